/** `$lookup` by equality, as MongoDB's manual describes it. */
import { expect } from 'chai';
import type { Document } from 'mongodb';
import { documentStore } from './document-store.ts';

describe('$lookup', () => {
  const store = documentStore();

  /** Joins documents with `others` and returns the `_id`s of the matches of each. */
  async function join(docs: Document[], others: Document[], stage: Document = {}): Promise<unknown[]> {
    await store.things.insertMany(docs);
    if (others.length > 0) await store.db.collection('others').insertMany(others);
    const lookup = { from: 'others', localField: 'ref', foreignField: 'key', as: 'found', ...stage };
    const rows = await store.things.aggregate([{ $lookup: lookup }, { $sort: { _id: 1 } }]).toArray();
    return rows.map((row) => (row['found'] as Document[]).map(({ _id }) => _id as unknown));
  }

  it('adds every document whose foreign field equals the local field', async () => {
    const others = [{ _id: 'a', key: 1 }, { _id: 'b', key: 1 }, { _id: 'c', key: '1' }] as Document[]; // prettier-ignore
    expect(await join([{ _id: 1, ref: 1 }, { _id: 2, ref: 2 }], others)).to.deep.equal([['a', 'b'], []]); // prettier-ignore
  });

  it('matches null and a missing field with each other', async () => {
    const others = [{ _id: 'null', key: null }, { _id: 'missing' }, { _id: 'zero', key: 0 }] as Document[]; // prettier-ignore
    expect(await join([{ _id: 1 }, { _id: 2, ref: null }], others)).to.deep.equal([
      ['null', 'missing'],
      ['null', 'missing'],
    ]);
  });

  it('matches an array on either side if one of its items does', async () => {
    const others = [{ _id: 'a', key: 1 }, { _id: 'b', key: [2, 3] }, { _id: 'c', key: 4 }] as Document[]; // prettier-ignore
    expect(
      await join(
        [
          { _id: 1, ref: [1, 3] },
          { _id: 2, ref: 2 },
        ],
        others,
      ),
    ).to.deep.equal([['a', 'b'], ['b']]);
  });

  it('finds nothing in a collection that does not exist, and changes no stored document', async () => {
    expect(await join([{ _id: 1, ref: 1 }], [])).to.deep.equal([[]]);
    expect(await store.things.find().toArray()).to.deep.equal([{ _id: 1, ref: 1 }]);
    expect((await store.db.listCollections().toArray()).map(({ name }) => name)).to.deep.equal(['things']);
  });
});
