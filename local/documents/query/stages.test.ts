import { expect } from 'chai';
import { CommandError } from '../errors.ts';
import { projector, runStages } from '../stages.ts';
import type { Doc } from '../values.ts';

const now = new Date('2026-01-01T00:00:00Z');
const run = (docs: Doc[], ...stages: Doc[]): Doc[] => runStages(docs, stages, { now });

describe('aggregation stages', () => {
  const scans = [
    { _id: 1, org: 'a', n: 3 },
    { _id: 2, org: 'b', n: 1 },
    { _id: 3, org: 'a', n: 5 },
  ];

  it('match, sort, skip and limit', () => {
    expect(run(scans, { $match: { n: { $gt: 0 } } }, { $sort: { org: 1, n: -1 } }, { $skip: 1 }, { $limit: 1 })).to.deep.equal([scans[0]]);
  });

  it('group with sums', () => {
    const grouped = run(scans, { $group: { _id: '$org', sum: { $sum: '$n' }, one: { $sum: 1 } } });
    expect(grouped).to.deep.equal([{ _id: 'a', sum: 8, one: 2 }, { _id: 'b', sum: 1, one: 1 }]); // prettier-ignore
    expect(() => run(scans, { $group: { _id: null, n: { $max: '$n' } } })).to.throw(CommandError);
  });

  it('that the product does not use are rejected', () => {
    expect(() => run(scans, { $out: 'elsewhere' })).to.throw(CommandError);
  });

  it('sort arrays by their least item ascending and their greatest descending, and missing values first', () => {
    const docs = [{ v: [5, 2] }, { v: 3 }, {}, { v: [9, 1] }];
    expect(run(docs, { $sort: { v: 1 } })).to.deep.equal([docs[2], docs[3], docs[0], docs[1]]);
    expect(run(docs, { $sort: { v: -1 } })).to.deep.equal([docs[3], docs[0], docs[1], docs[2]]);
  });
});

describe('projections', () => {
  const doc = { _id: 1, a: 1, b: 2 };
  const cases: [string, Doc, Doc][] = [
    ['includes', { a: 1 }, { _id: 1, a: 1 }],
    ['includes without _id', { a: 1, _id: 0 }, { a: 1 }],
    ['only _id', { _id: 1 }, { _id: 1 }],
    ['all but _id', { _id: 0 }, { a: 1, b: 2 }],
    ['excludes', { b: 0 }, { _id: 1, a: 1 }],
    ['computes', { _id: 0, sum: { $add: ['$a', '$b'] }, text: 'x' }, { sum: 3, text: 'x' }],
  ];
  for (const [what, projection, expected] of cases)
    it(what, () => {
      expect(projector(projection, now)(doc)).to.deep.equal(expected);
    });

  it('reject including and excluding at once, and nested fields', () => {
    for (const projection of [{ a: 1, b: 0 }, { 'a.b': 1 }]) expect(() => projector(projection, now)).to.throw(CommandError);
  });
});
