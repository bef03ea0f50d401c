import { expect } from 'chai';
import { CommandError } from '../errors.ts';
import { projector } from './projection.ts';
import { runStages } from './stages.ts';
import type { Doc } from '../values.ts';

const now = new Date('2026-01-01T00:00:00Z');
const run = (docs: Doc[], ...stages: Doc[]): Doc[] => runStages(docs, stages, { now });

describe('aggregation stages', () => {
  const scans = [
    { _id: 1, org: 'a', n: 3, tags: ['x', 'y'] },
    { _id: 2, org: 'b', n: 1, tags: [] },
    { _id: 3, org: 'a', n: 5 },
  ];

  it('match, sort, skip, limit, count', () => {
    expect(run(scans, { $match: { n: { $gt: 0 } } }, { $sort: { org: 1, n: -1 } }, { $skip: 1 }, { $limit: 1 })).to.deep.equal([scans[0]]);
    expect(run(scans, { $match: { org: 'a' } }, { $count: 'n' })).to.deep.equal([{ n: 2 }]);
    expect(run([], { $count: 'n' })).to.deep.equal([]);
  });

  it('group', () => {
    expect(
      run(scans, {
        $group: {
          _id: '$org',
          sum: { $sum: '$n' },
          one: { $sum: 1 },
          avg: { $avg: '$n' },
          max: { $max: '$n' },
          all: { $push: '$_id' },
          first: { $first: '$n' },
          set: { $addToSet: '$org' },
        },
      }),
    ).to.deep.equal([
      {
        _id: 'a',
        sum: 8,
        one: 2,
        avg: run([{}], { $project: { v: { $divide: [8, 2] } } })[0]!['v'],
        max: 5,
        all: [1, 3],
        first: 3,
        set: ['a'],
      },
      {
        _id: 'b',
        sum: 1,
        one: 1,
        avg: run([{}], { $project: { v: { $divide: [1, 1] } } })[0]!['v'],
        max: 1,
        all: [2],
        first: 1,
        set: ['b'],
      },
    ]);
    expect(run(scans, { $group: { _id: null, n: { $sum: 1 } } })).to.deep.equal([{ _id: null, n: 3 }]);
    expect(() => run(scans, { $group: { _id: null, n: { $topN: 1 } } })).to.throw(CommandError);
  });

  it('unwind', () => {
    expect(run(scans, { $unwind: '$tags' }).map((doc) => doc['tags'])).to.deep.equal(['x', 'y']);
    expect(run(scans, { $unwind: { path: '$tags', preserveNullAndEmptyArrays: true } }).length).to.equal(4);
    expect(run([{ a: [{ b: 1 }] }], { $unwind: '$a' })).to.deep.equal([{ a: { b: 1 } }]);
  });

  it('sortByCount, and rarer stages of mingo', () => {
    expect(run(scans, { $sortByCount: '$org' })).to.deep.equal([{ _id: 'a', count: 2 }, { _id: 'b', count: 1 }]); // prettier-ignore
    expect(run(scans, { $facet: { few: [{ $limit: 1 }] } })).to.deep.equal([{ few: [scans[0]] }]);
    expect(() => run(scans, { $out: 'elsewhere' })).to.throw(CommandError);
  });

  it('sort arrays by their least item ascending and their greatest descending, and missing values first', () => {
    const docs = [{ v: [5, 2] }, { v: 3 }, {}, { v: [9, 1] }];
    expect(run(docs, { $sort: { v: 1 } })).to.deep.equal([docs[2], docs[3], docs[0], docs[1]]);
    expect(run(docs, { $sort: { v: -1 } })).to.deep.equal([docs[3], docs[0], docs[1], docs[2]]);
  });
});

describe('projections', () => {
  const doc = { _id: 1, a: 1, b: { c: 2, d: 3 }, list: [{ x: 1, y: 2 }, { x: 3 }], tags: [1, 2, 3] };
  const cases: [string, Doc, Doc][] = [
    ['includes', { a: 1 }, { _id: 1, a: 1 }],
    ['includes without _id', { a: 1, _id: 0 }, { a: 1 }],
    ['includes within', { 'b.c': 1, _id: 0 }, { b: { c: 2 } }],
    ['includes within arrays', { list: { x: 1 }, _id: 0 }, { list: [{ x: 1 }, { x: 3 }] }],
    ['only _id', { _id: 1 }, { _id: 1 }],
    ['all but _id', { _id: 0 }, { a: 1, b: { c: 2, d: 3 }, list: doc.list, tags: [1, 2, 3] }],
    ['excludes', { 'b.c': 0, list: 0, tags: 0 }, { _id: 1, a: 1, b: { d: 3 } }],
    ['computes', { _id: 0, sum: { $add: ['$a', '$b.c'] }, text: 'x' }, { sum: 3, text: 'x' }],
    ['computes within', { _id: 0, 'n.m': '$a' }, { n: { m: 1 } }],
    ['cuts an array', { tags: { $slice: -2 }, list: 0, b: 0 }, { _id: 1, a: 1, tags: [2, 3] }],
    ['the first item that matches', { list: { $elemMatch: { x: 3 } }, _id: 0 }, { list: [{ x: 3 }] }],
  ];
  for (const [what, projection, expected] of cases)
    it(what, () => {
      expect(projector(projection, { now })(doc)).to.deep.equal(expected);
    });

  it('reject including and excluding at once', () => {
    expect(() => projector({ a: 1, b: 0 }, { now })).to.throw(CommandError);
    expect(() => projector({ a: 1, 'a.b': 1 }, { now })).to.throw(CommandError);
  });
});
