import { expect } from 'chai';
import fc from 'fast-check';
import { sorter } from '../query/stages.ts';
import type { Doc } from '../values.ts';
import { openCollection } from './collection.ts';
import { openOrderedIndex } from './ordered.ts';

const NOW = new Date(0);
const KEY = { owner: 1, kind: 1, at: -1, _id: -1 };
const SORT = { at: -1, _id: -1 };

function collectionOf(docs: readonly Doc[] = []) {
  const collection = openCollection('test.docs', () => {});
  collection.createIndex({ name: 'by kind', key: KEY });
  collection.createIndex({ name: 'by owner', key: { owner: 1, at: -1, _id: -1 } });
  for (const doc of docs) collection.insert(doc);
  return collection;
}

describe('sorted queries by an index', () => {
  const field = fc.constantFrom(null, undefined, 'a', 'b');
  const time = fc.integer({ min: 0, max: 5 }).map((minute) => new Date(minute * 60_000));
  const filter = fc.record(
    {
      owner: fc.constantFrom('a', 'b', null),
      kind: fc.constantFrom('a', null, { $in: ['a', 'b'] }),
      $and: fc.array(
        fc.oneof(
          time.map((at) => ({ at: { $lte: at } })),
          time.map((at) => ({ at: { $gte: at } })),
        ),
        { minLength: 1, maxLength: 3 },
      ),
    },
    { requiredKeys: ['owner'] },
  );

  it('find the same documents in the same order as a sort of all matches, after any changes', () => {
    const change = fc.record({ id: fc.integer({ min: 0, max: 12 }), owner: field, kind: field, at: time, remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(fc.oneof(change, filter), { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (steps, limit) => {
        const collection = collectionOf();
        for (const step of steps) {
          if (!('id' in step)) {
            const wanted = collection.find(step).sort(sorter(SORT)).slice(0, limit);
            expect(collection.findInOrder(step, SORT, limit)).to.deep.equal(wanted);
            continue;
          }
          const { id, remove, owner, kind, at } = step;
          const next = { _id: id, at, ...(owner !== undefined && { owner }), ...(kind !== undefined && { kind }) };
          const [known] = collection.find({ _id: id });
          if (known === undefined) collection.insert(next);
          else if (remove) collection.remove(known);
          else collection.replace(known, next);
        }
      }),
    );
  });

  it('also see documents that were stored before the index was created', () => {
    const collection = openCollection('test.docs', () => {});
    for (const id of [2, 1, 3]) collection.insert({ _id: id, owner: 'a', at: NOW });
    expect(collection.findInOrder({ owner: 'a' }, SORT, 2)).to.equal(null);
    collection.createIndex({ name: 'by owner', key: { owner: 1, at: -1, _id: -1 } });
    expect(collection.findInOrder({ owner: 'a' }, SORT, 2)?.map((doc) => doc['_id'])).to.deep.equal([3, 2]);
  });

  const unordered: [string, Doc, Doc][] = [
    ['another order', { owner: 'a' }, { at: 1, _id: 1 }],
    ['a part of the order', { owner: 'a' }, { at: -1 }],
    ['several values', { owner: { $in: ['a', 'b'] } }, SORT],
    ['no value', {}, SORT],
    ['another field', { kind: 'a' }, SORT],
  ];
  for (const [what, wanted, sort] of unordered)
    it(`leave a query with ${what} to others`, () => {
      expect(collectionOf([{ _id: 1, owner: 'a', at: NOW }]).findInOrder(wanted, sort, 5)).to.equal(null);
    });

  it('leave an index whose documents have arrays to others', () => {
    const collection = collectionOf([{ _id: 1, owner: 'a', at: NOW }]);
    expect(collection.findInOrder({ owner: 'a' }, SORT, 5)).to.have.length(1);
    collection.insert({ _id: 2, owner: ['a', 'b'], at: NOW });
    expect(collection.findInOrder({ owner: 'a' }, SORT, 5)).to.equal(null);
  });

  it('look only at the documents between the bounds of a filter', () => {
    const index = openOrderedIndex(KEY);
    const docs = Array.from({ length: 10_000 }, (_, minute) => ({ _id: minute, owner: 'a', kind: 'k', at: new Date(minute * 60_000) }));
    for (const doc of docs) index.add(doc);
    const equal = new Map([
      ['owner', ['a']],
      ['kind', ['k']],
    ]);
    const after = { $and: [{ at: { $lte: new Date(5_000 * 60_000) } }, { at: { $gte: new Date(4_990 * 60_000) } }] };
    const range = index.range({ equal, sort: SORT, filter: after }, docs)!;
    expect(range.to - range.from).to.equal(11);
    expect(range.docs[range.from]).to.equal(docs[5_000]);
  });
});
