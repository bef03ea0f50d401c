import { Binary, ObjectId } from 'bson';
import { expect } from 'chai';
import fc from 'fast-check';
import { compare, decode, encode, identical, keyOf } from './values.ts';

describe('stored values', () => {
  it('are returned as they were stored', () => {
    const doc = {
      numbers: [1, 0.5, -0, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40],
      date: new Date(5),
      id: new ObjectId(),
      binary: new Binary(Buffer.from([1, 2, 3]), 0),
      text: 'ü',
      yes: true,
      none: null,
      expression: /^a/i,
      nested: { a: { b: {} }, list: [null, { a: [] }] },
    };
    expect(decode(encode(doc))).to.deep.equal(doc);
  });

  it('are ordered by type, then by value', () => {
    const ordered: unknown[] = [
      undefined, null, Number.NaN, -1, 0.5, 1, 1.5, 2, 10 ** 15, '', 'a', 'b', {}, { a: 1 }, { a: 2 }, { a: 2, b: 0 }, { b: 1 },
      [], [1], [1, 2], [2], new Binary(Buffer.from([1])), new ObjectId('000000000000000000000001'), false, true, new Date(0), new Date(1), /a/,
    ]; // prettier-ignore
    for (const [i, a] of ordered.entries())
      for (const [j, b] of ordered.entries()) expect(Math.sign(compare(a, b)), `${i} ${j}`).to.equal(Math.sign(i - j));
  });

  it('are equal only with the same fields in the same order', () => {
    expect(identical({ a: 1, b: 2 }, { b: 2, a: 1 })).to.equal(false);
    expect(identical({ a: [new Date(1), null] }, { a: [new Date(1), null], b: undefined })).to.equal(true);
    expect([compare(-0, 0), keyOf(-0)]).to.deep.equal([0, keyOf(0)]);
  });

  it('have the same key exactly if they are equal', () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom<unknown>(
          null,
          true,
          false,
          0,
          1,
          -1,
          0.5,
          2 ** 53,
          2 ** 53 + 2,
          new Date(0),
          new Date(1),
          '',
          'a',
          '1',
          'n1',
          new ObjectId('0'.repeat(24)),
        ),
        fc.string(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'a,b'), tie('value'), { maxKeys: 2 }),
      ),
    })).value;
    fc.assert(fc.property(value, value, (a, b) => (keyOf(a) === keyOf(b)) === (compare(a, b) === 0)));
  });
});
