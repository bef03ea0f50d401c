import { expect } from 'chai';
import fc from 'fast-check';
import { CommandError } from '../errors.ts';
import { seedOf, updated, type Update } from '../update.ts';
import { copy, identical, type Doc } from '../values.ts';

const now = new Date('2026-01-01T00:00:00Z');
const apply = (doc: Doc, update: Update, inserting = false): Doc => updated(doc, update, now, inserting);

describe('updates', () => {
  const cases: [string, Doc, Update, Doc][] = [
    ['$set makes what is missing', { _id: 1 }, { $set: { 'a.b.c': 2 } }, { _id: 1, a: { b: { c: 2 } } }],
    ['$set in an array', { a: [1, 2] }, { $set: { 'a.1': 5, 'a.3': 7 } }, { a: [1, 5, null, 7] }],
    ['$unset', { a: 1, b: { c: 1, d: 2 } }, { $unset: { a: '', 'b.c': '', 'x.y': '' } }, { b: { d: 2 } }],
    ['$inc', { a: 1 }, { $inc: { a: 2, n: 1 } }, { a: 3, n: 1 }],
    ['$max', { a: 5, b: 5 }, { $max: { a: 3, b: 9, d: now } }, { a: 5, b: 9, d: now }],
    ['$push each, at a position and cut', { a: [5, 1] }, { $push: { a: { $each: [4], $position: 0, $slice: 2 } } }, { a: [4, 5] }],
    ['$push each, sorted, and the last ones kept', { a: [{ n: 3 }, { n: 1 }] }, { $push: { a: { $each: [{ n: 2 }], $sort: { n: 1 }, $slice: -2 } } }, { a: [{ n: 2 }, { n: 3 }] }],
    ['$addToSet', { a: [1] }, { $addToSet: { a: 1, b: 3 } }, { a: [1], b: [3] }],
    ['$push', { a: [1] }, { $push: { a: 2, b: 1 } }, { a: [1, 2], b: [1] }],
    ['$pull by value, condition and document', { a: [1, 2, 3], b: [{ x: 1 }, { x: 2, y: 1 }] }, { $pull: { a: { $gte: 2 }, b: { x: 2 } } }, { a: [1], b: [{ x: 1 }] }],
    ['$currentDate', {}, { $currentDate: { at: true } }, { at: now }],
    ['$setOnInsert is for inserts', { a: 1 }, { $setOnInsert: { b: 1 } }, { a: 1 }],
    ['a replacement keeps the _id', { _id: 7, a: 1 }, { b: 2 }, { _id: 7, b: 2 }],
    ['a pipeline sees each stage’s result', { a: 1 }, [{ $set: { b: { $add: ['$a', 1] } } }, { $set: { c: '$b' } }, { $unset: 'a' }], { b: 2, c: 2 }],
    ['a pipeline’s document is merged', { a: { x: 1 } }, [{ $set: { a: { y: 2 } } }], { a: { x: 1, y: 2 } }],
    ['a pipeline’s literal replaces', { a: { x: 1 } }, [{ $set: { a: { $literal: { y: 2 } } } }], { a: { y: 2 } }],
    ['nothing is less than a date, and not null', {}, [{ $set: { less: { $lt: ['$a', '$$NOW'] }, none: { $eq: ['$a', null] } } }], { less: true, none: false }],
    ['$$NOW is the server’s clock', {}, [{ $set: { at: '$$NOW', later: { $add: ['$$NOW', 1000] } } }], { at: now, later: new Date(now.getTime() + 1000) }],
    ['both see the same beginning', { a: 1, b: 2 }, [{ $set: { a: '$b', b: '$a' } }], { a: 2, b: 1 }],
    ['a filter and a minimum', { h: [{ n: 1 }, { n: 5 }] }, [{ $set: { h: { $filter: { input: '$h', as: 'e', cond: { $gt: ['$$e.n', 2] } } }, least: { $min: '$h.n' } } }], { h: [{ n: 5 }], least: 1 }],
    ['a sum by $reduce', { h: [{ n: 1 }, { n: 5 }] }, [{ $set: { s: { $reduce: { input: '$h', initialValue: 0, in: { $add: ['$$value', '$$this.n'] } } }, m: { $map: { input: '$h', as: 'e', in: { $mergeObjects: ['$$e', { x: 1 }] } } } } }], { h: [{ n: 1 }, { n: 5 }], s: 6, m: [{ n: 1, x: 1 }, { n: 5, x: 1 }] }],
    ['objects by key', { held: { a: 1, b: 2 } }, [{ $set: { held: { $arrayToObject: { $filter: { input: { $objectToArray: '$held' }, cond: { $ne: ['$$this.k', 'a'] } } } } } }], { held: { b: 2 } }],
  ]; // prettier-ignore
  for (const [what, doc, update, expected] of cases)
    it(what, () => {
      const before = copy(doc);
      const after = apply(doc, update);
      expect(after).to.deep.equal(expected);
      expect(identical(doc, before), 'the document given is not changed').to.equal(true);
    });

  it('keep the order of fields, new ones last', () => {
    expect(Object.keys(apply({ _id: 1, b: 1, a: 1 }, { $set: { c: 1, b: 2 } }))).to.deep.equal(['_id', 'b', 'a', 'c']);
  });

  const rejected: [string, Doc, Update, number][] = [
    ['another _id', { _id: 1 }, { $set: { _id: 2 } }, 66],
    ['conflicting paths', {}, { $set: { a: 1 }, $inc: { 'a.b': 1 } }, 40],
    ['the same path twice', {}, { $set: { a: 1 }, $unset: { a: 1 } }, 40],
    ['a path through a scalar', { a: 5 }, { $set: { 'a.b': 1 } }, 28],
    ['counting a string', { a: 'x' }, { $inc: { a: 1 } }, 14],
    ['pushing to no array', { a: 1 }, { $push: { a: 1 } }, 2],
    ['an unknown operator', {}, { $foo: { a: 1 } }, 9],
    ['a stage that is not for updates', {}, [{ $match: {} }], 72],
    ['an operator that the product does not use', {}, [{ $set: { a: { $concat: ['x'] } } }], 168],
    ['a positional path', { a: [1] }, { $set: { 'a.$': 1 } }, 115],
  ];
  for (const [what, doc, update, code] of rejected)
    it(`reject ${what} (${code})`, () => {
      expect(() => apply(doc, update))
        .to.throw(CommandError)
        .with.property('code', code);
    });

  it('accept paths with a common prefix of characters', () => {
    expect(apply({}, { $set: { a: 1, ab: 2, 'a-b': 3 } })).to.deep.equal({ a: 1, ab: 2, 'a-b': 3 });
  });

  it('start an upsert from the equality conditions of the filter', () => {
    expect(seedOf({ a: 1, 'b.c': { $eq: 2 }, d: { $gt: 1 }, $and: [{ e: 3 }], $or: [{ f: 1 }] })).to.deep.equal({
      a: 1,
      b: { c: 2 },
      e: 3,
    });
  });

  it('give the sum of all amounts with $inc', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 20 }), (amounts) => {
        const end = amounts.reduce<Doc>((doc, n) => apply(doc, { $inc: { n } }), { n: 0 });
        return Number(end['n']) === amounts.reduce((sum, n) => sum + n, 0);
      }),
    );
  });
});
