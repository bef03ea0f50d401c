import {
  Binary,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
  calculateObjectSize,
  deserialize,
  serialize,
} from 'bson';
import { expect } from 'chai';
import fc from 'fast-check';
import { arithmetic, asDouble, compare, decode, encode, identical, keyOf, typeName } from './values.ts';

describe('stored values', () => {
  it('are returned byte for byte, whatever their type', () => {
    const doc = {
      int: new Int32(1),
      largest: new Int32(2147483647),
      long: Long.fromString('9007199254740993'),
      small: Long.fromNumber(1),
      double: new Double(1),
      fraction: new Double(0.5),
      minusZero: new Double(-0),
      nan: new Double(Number.NaN),
      infinite: new Double(Number.POSITIVE_INFINITY),
      large: new Double(2 ** 40),
      decimal: Decimal128.fromString('1.10'),
      date: new Date(5),
      id: new ObjectId(),
      uuid: new UUID(),
      binary: new Binary(Buffer.from([1, 2, 3]), 0),
      text: 'ü',
      yes: true,
      none: null,
      list: [new Int32(1), new Double(2), Long.fromNumber(3), null, { a: [] }],
      expression: /^a/i,
      time: new Timestamp({ t: 1, i: 2 }),
      least: new MinKey(),
      greatest: new MaxKey(),
      nested: { a: { b: {} } },
    };
    const bytes = serialize(doc);
    expect(Buffer.from(encode(decode(bytes))).equals(bytes)).to.equal(true);
    expect(calculateObjectSize(deserialize(encode(decode(bytes))))).to.be.greaterThan(0);
  });

  it('are ordered by type, then by value', () => {
    const ordered: unknown[] = [
      new MinKey(), undefined, null, Number.NaN, -1, 0.5, 1n, 1.5, 2, 10n ** 15n, '', 'a', 'b', {}, { a: 1 }, { a: 2 }, { a: 2, b: 0 }, { b: 1 },
      [], [1], [1, 2], [2], new Binary(Buffer.from([1])), new ObjectId('000000000000000000000001'), false, true, new Date(0), new Date(1), /a/, new MaxKey(),
    ]; // prettier-ignore
    for (const [i, a] of ordered.entries())
      for (const [j, b] of ordered.entries()) expect(Math.sign(compare(a, b)), `${i} ${j}`).to.equal(Math.sign(i - j));
  });

  it('of different number types are equal but not identical', () => {
    expect([compare(1, 1n), compare(1n, new Double(1)), compare(-0, 0)]).to.deep.equal([0, 0, 0]);
    expect([keyOf(1), keyOf(1n), keyOf(new Double(1))]).to.deep.equal(['n1', 'n1', 'n1']);
    expect([identical(1, 1n), identical(1, new Double(1)), identical({ a: 1, b: 2 }, { b: 2, a: 1 })]).to.deep.equal([false, false, false]);
    expect(identical({ a: [new Date(1), null] }, { a: [new Date(1), null] })).to.equal(true);
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
          1n,
          new Double(1),
          2n ** 53n,
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

  it('are added in the wider type, and an overflowing int becomes a long', () => {
    const sums: [unknown, unknown, unknown, string][] = [
      [1, 2, 3, 'int'],
      [2147483647, 1, 2147483648n, 'long'],
      [1, 2n, 3n, 'long'],
      [1, new Double(2), new Double(3), 'double'],
      [0.5, 1, 1.5, 'double'],
      [2n ** 63n - 1n, 1n, 2 ** 63, 'double'],
    ];
    for (const [a, b, sum, type] of sums) {
      expect(arithmetic('+', a, b)).to.deep.equal(sum);
      expect(typeName(arithmetic('+', a, b))).to.equal(type);
    }
    expect(asDouble(0.25)).to.equal(0.25);
  });
});
