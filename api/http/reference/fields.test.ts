import { expect } from 'chai';
import { DomUtils, parseDocument } from 'htmlparser2';
import { schemasOf, type OpenApi, type Schema } from './document.ts';
import { nested, typeLabel, type Direction } from './fields.ts';

const used = { $ref: '#/components/schemas/Used' };
const document = {
  paths: {},
  components: {
    schemas: { Used: { type: 'object', properties: { inner: { type: 'string' } } }, Other: { properties: { a: used, b: used } } },
  },
} as unknown as OpenApi;
const schemas = schemasOf(document);
const textOf = (html: { toString(): string }): string => DomUtils.textContent(parseDocument(html.toString())).replace(/\s+/g, ' ').trim();
const fields = (schema: Schema, direction: Direction = 'response'): string => textOf(nested(schema, schemas, direction));

describe('fields of the reference', () => {
  const object: Schema = {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string', description: 'Text.' }, b: { type: 'integer' } },
  };
  for (const [what, shown, expected] of [
    ['of a request say which are required', fields(object, 'request'), 'a string required Text. b integer'],
    ['of a response say which are optional', fields(object), 'a string Text. b integer optional'],
    ['of the items of an array', fields({ items: object }), 'a string Text. b integer optional'],
    ['of any name', fields({ additionalProperties: { type: 'number' } }), 'any name number optional'],
    ['that are objects of their own are linked to', fields({ required: ['u'], properties: { u: used } }), 'u Used'],
    ['of each variant', fields({ anyOf: [object, { type: 'null' }] }), 'object a string Text. b integer optional'],
    ['of a value without fields', fields({ type: 'string' }), ''],
    ['of an object that is linked to', fields(used), ''],
    ['with described items', fields({ required: ['c'], properties: { c: { type: 'array', items: { type: 'string', description: 'One of them.' } } } }), 'c array of string Each item: One of them.'], // prettier-ignore
  ] as const)
    it(what, () => expect(shown).to.equal(expected));

  for (const [schema, expected] of [
    [{ anyOf: [used, { type: 'null' }] }, '<a href="#object-Used">Used</a> or null'],
    [{ type: 'array', items: { type: 'array', items: used } }, 'array of array of <a href="#object-Used">Used</a>'],
  ] as const)
    it(`have the type ${expected}`, () => expect(typeLabel(schema, schemas).toString()).to.equal(expected));
});
