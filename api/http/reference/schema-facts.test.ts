import { expect } from 'chai';
import type { Schema } from './document.ts';
import { factsOf, plainType } from './schema-facts.ts';

const words = (schema: Schema): string[] => factsOf(schema).map(({ text, values = [] }) => [text, ...values].join(' '));

describe('facts of a schema', () => {
  for (const [schema, expected] of [
    [{ default: '' }, ['Default: ""']],
    [{ default: [] }, ['Default: []']],
    [{ default: false }, ['Default: false']],
    [{ default: 'AA', enum: ['A', 'AA'] }, ['Default: AA', 'One of A AA']],
    [{ enum: ['queued'] }, ['Always queued']],
    [{ enum: ['a', null] }, ['One of a null']],
    [{ 'x-extensible-enum': ['a', 'b'] }, ['One of a b']],
    [{ minimum: 0 }, ['At least 0']],
    [{ minimum: 1, maximum: 500 }, ['1 to 500']],
    [{ maximum: 9007199254740991 }, ['At most 9007199254740991']],
    [{ minLength: 1, maxLength: 255 }, ['1 to 255 characters']],
    [{ maxLength: 1 }, ['At most 1 character']],
    [{ minItems: 1, uniqueItems: true }, ['At least 1 item', 'No duplicates']],
    [{ minProperties: 1, maxProperties: 1 }, ['Exactly 1 field']],
    [{ pattern: '^a$' }, ['Pattern: ^a$']],
    [{ maxItems: 50, items: { maxLength: 512 } }, ['At most 50 items', 'Each item: at most 512 characters']],
    [{ items: { items: { enum: ['a', 'b'] } } }, ['Each item: each item: one of a b']],
  ] as const satisfies readonly (readonly [Schema, readonly string[]])[])
    it(JSON.stringify(schema), () => expect(words(schema)).to.deep.equal(expected));

  for (const [schema, expected] of [
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: 'uuid' }, 'string (uuid)'],
    [{ type: ['number', 'null'] }, 'number or null'],
    [{ enum: [1] }, 'value'],
    [{}, 'any value'],
  ] as const satisfies readonly (readonly [Schema, string])[])
    it(`have the type ${expected}`, () => expect(plainType(schema)).to.equal(expected));
});
