import { expect } from 'chai';
import { Type, type TSchema } from 'typebox';
import { ValidationFailure } from './errors.ts';
import { compileValidator } from './validation.ts';

/** Validates a value. Returns its errors as `[...loc, type]`, or the converted value. */
function validate(schema: TSchema, value: unknown, httpPart = 'body'): unknown {
  const answer = compileValidator({ schema, method: 'POST', url: '/', httpPart })(value) as { value?: unknown; error?: Error };
  if (answer.error instanceof ValidationFailure) return answer.error.items.map(({ loc, type }) => [...loc, type]);
  return answer.value;
}

describe('compileValidator', () => {
  it('converts text in the query and the path, but nothing in a body', () => {
    const schema = Type.Object({ full: Type.Boolean(), count: Type.Integer() });
    expect(validate(schema, { full: 'true', count: '3' }, 'querystring')).to.deep.equal({ full: true, count: 3 });
    expect(validate(schema, { full: 'true', count: '3' })).to.deep.equal([
      ['body', 'full', 'type.boolean'],
      ['body', 'count', 'type.integer'],
    ]);
  });

  it('names the parts of a request as the contract does', () => {
    const schema = Type.Object({ a: Type.String() });
    for (const [httpPart, part] of [
      ['body', 'body'],
      ['params', 'path'],
      ['querystring', 'query'],
      ['headers', 'header'],
    ])
      expect(validate(schema, {}, httpPart)).to.deep.equal([[part, 'a', 'missing_field']]);
  });

  it('matches header names case-insensitively', () => {
    const schema = Type.Object({ 'X-Thing': Type.String({ maxLength: 1 }) });
    expect(validate(schema, { 'x-thing': 'ab' }, 'headers')).to.deep.equal([['header', 'x-thing', 'string.max_length']]);
  });

  it('describes errors of lists', () => {
    const schema = Type.Object({ list: Type.Array(Type.String(), { minItems: 2, uniqueItems: true }) });
    expect(validate(schema, { list: 'a' })).to.deep.equal([['body', 'list', 'type.array']]);
    expect(validate(schema, { list: [] })).to.deep.equal([['body', 'list', 'array.min_items']]);
    expect(validate(schema, { list: ['a', 'a'] })).to.deep.equal([['body', 'list', 'array.unique_items']]);
  });

  it('locates a nested value, with numbers for array indexes', () => {
    const schema = Type.Object({ list: Type.Array(Type.Object({ 'a/b~c': Type.Number() })) });
    expect(validate(schema, { list: [{ 'a/b~c': 1 }, { 'a/b~c': 'x' }] })).to.deep.equal([['body', 'list', 1, 'a/b~c', 'type.number']]);
  });

  for (const [value, ok] of [
    ['https://example.com', true],
    ['http:example.com', false],
    ['https:///path', false],
    ['//example.com', false],
    ['example.com', false],
    ['https://[::1', false],
  ] as const)
    it(`${ok ? 'accepts' : 'rejects'} ${JSON.stringify(value)} as a URL`, () => {
      const expected = ok ? { url: value } : [['body', 'url', 'string.uri']];
      expect(validate(Type.Object({ url: Type.String({ format: 'uri' }) }), { url: value })).to.deep.equal(expected);
    });

  it('throws for a schema keyword that has no message', () => {
    expect(() => validate(Type.Number({ multipleOf: 2 }), 3)).to.throw(TypeError, 'multipleOf');
  });
});
