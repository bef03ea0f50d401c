import { expect } from 'chai';
import { CommandError } from '../errors.ts';
import { matcher } from '../match.ts';
import type { Doc } from '../values.ts';

const now = new Date('2026-01-01T00:00:00Z');

describe('filters', () => {
  const cases: [string, Doc, Doc, boolean][] = [
    ['null means missing too', { a: null }, {}, true],
    ['null is not zero', { a: null }, { a: 0 }, false],
    ['missing is not a value', { a: 1 }, {}, false],
    ['an item of an array', { a: 2 }, { a: [1, 2] }, true],
    ['a whole array', { a: [1, 2] }, { a: [1, 2] }, true],
    ['a whole array within one', { a: [1, 2] }, { a: [[1, 2]] }, true],
    ['a document, order counts', { a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }, false],
    ['through arrays', { 'a.b': 2 }, { a: [{ b: 1 }, { b: 2 }] }, true],
    ['by position', { 'a.1': 5 }, { a: [4, 5] }, true],
    ['null through an array with a gap', { 'a.b': null }, { a: [{ b: 1 }, {}] }, true],
    ['null through an array of scalars', { 'a.b': null }, { a: [1, 2] }, false],
    ['null through a scalar', { 'a.b': null }, { a: 5 }, true],
    ['range within a type', { a: { $gt: 5 } }, { a: '9' }, false],
    ['range on dates', { a: { $lt: now } }, { a: new Date(0) }, true],
    ['range finds no missing', { a: { $lt: now } }, {}, false],
    ['range with null', { a: { $lte: null } }, {}, true],
    ['no number is less than NaN', { a: { $lt: 1 } }, { a: Number.NaN }, false],
    ['two conditions, two items', { a: { $gt: 4, $lt: 2 } }, { a: [1, 5] }, true],
    ['ne on arrays', { a: { $ne: 1 } }, { a: [1, 2] }, false],
    ['ne finds missing', { a: { $ne: 1 } }, {}, true],
    ['in with null', { a: { $in: [null, 7] } }, {}, true],
    ['a pattern', { a: /^x/ }, { a: 'xy' }, true],
    ['nin', { a: { $nin: [1, 2] } }, { a: 3 }, true],
    ['exists with null', { a: { $exists: true } }, { a: null }, true],
    ['exists false', { a: { $exists: false } }, { a: null }, false],
    ['regex with options', { a: { $regex: '^AB', $options: 'i' } }, { a: 'abc' }, true],
    ['or', { $or: [{ a: 1 }, { b: 1 }] }, { b: 1 }, true],
    ['nor: one matches', { $nor: [{ a: 1 }, { b: 1 }] }, { b: 1 }, false],
    ['nor: none matches', { $nor: [{ a: 1 }, { b: 1 }] }, { b: 2 }, true],
  ];
  for (const [what, filter, doc, expected] of cases)
    it(`${what}: ${expected ? 'yes' : 'no'}`, () => {
      expect(matcher(filter)(doc)).to.equal(expected);
    });

  it('reject unknown operators instead of matching everything or nothing', () => {
    for (const filter of [{ $where: 'true' }, { a: { $near: 1 } }, { $nor: [] }, { $or: [] }, { a: { $in: 5 } }] as Doc[])
      expect(() => matcher(filter)).to.throw(CommandError);
  });
});
