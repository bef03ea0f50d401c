import { expect } from 'chai';
import { Type, type TSchema } from 'typebox';
import { ValidationFailure } from './errors.ts';
import { createValidatorCompiler } from './validation.ts';

const compile = createValidatorCompiler();
/** What is wrong with a value, or the value as it was understood. */
function judge(schema: TSchema, value: unknown, httpPart = 'body'): unknown {
  const answer = compile({ schema, method: 'POST', url: '/', httpPart })(value) as { value?: unknown; error?: Error };
  if (answer.error instanceof ValidationFailure) return answer.error.items.map(({ loc, type }) => [...loc, type]);
  return answer.value;
}

describe('the validation of requests', () => {
  it('converts text in the query and the path, and nothing in a body', () => {
    const schema = Type.Object({ full: Type.Boolean(), count: Type.Integer() });
    expect(judge(schema, { full: 'true', count: '3' }, 'querystring')).to.deep.equal({ full: true, count: 3 });
    expect(judge(schema, { full: 'true', count: '3' })).to.deep.equal([
      ['body', 'full', 'type.boolean'],
      ['body', 'count', 'type.integer'],
    ]);
  });

  it('calls the parts of a request as the contract does', () => {
    const schema = Type.Object({ a: Type.String() });
    for (const [httpPart, part] of [
      ['body', 'body'],
      ['params', 'path'],
      ['querystring', 'query'],
      ['headers', 'header'],
    ])
      expect(judge(schema, {}, httpPart)).to.deep.equal([[part, 'a', 'missing_field']]);
  });

  it('finds a header however its schema writes it', () => {
    const schema = Type.Object({ 'X-Thing': Type.String({ maxLength: 1 }) });
    expect(judge(schema, { 'x-thing': 'ab' }, 'headers')).to.deep.equal([['header', 'x-thing', 'string.max_length']]);
  });

  it('says the way to a value deep inside, with numbers for places in a list', () => {
    const schema = Type.Object({ list: Type.Array(Type.Object({ 'a/b~c': Type.Number() })) });
    expect(judge(schema, { list: [{ 'a/b~c': 1 }, { 'a/b~c': 'x' }] })).to.deep.equal([['body', 'list', 1, 'a/b~c', 'type.number']]);
  });

  it('keeps unknown fields for a schema that takes them', () => {
    expect(judge(Type.Object({}, { additionalProperties: true }), { more: 1 })).to.deep.equal({ more: 1 });
  });

  for (const [value, ok] of [
    ['https://example.com', true],
    ['http://example.com/ü', true],
    ['mailto:someone@example.com', true],
    ['http:example.com', false],
    ['https:///path', false],
    ['https://exa mple.com', false],
    ['https://example.com\\@evil.example', false],
    ['//example.com', false],
    ['example.com', false],
    [' https://example.com', false],
    ['https://[::1', false],
  ] as const)
    it(`${ok ? 'takes' : 'refuses'} ${JSON.stringify(value)} as a URL`, () => {
      const expected = ok ? { url: value } : [['body', 'url', 'string.uri']];
      expect(judge(Type.Object({ url: Type.String({ format: 'uri' }) }), { url: value })).to.deep.equal(expected);
    });

  it('cries out at a schema keyword that it has no words for', () => {
    expect(() => judge(Type.Array(Type.String(), { minItems: 1 }), [])).to.throw(TypeError, 'minItems');
  });
});
