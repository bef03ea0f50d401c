import { expect } from 'chai';
import type { Collection, Document } from 'mongodb';
import { documentStore } from './document-store.ts';

describe('document store indexes', () => {
  const store = documentStore();

  it('report duplicates with 11000, ordered and unordered', async () => {
    await store.things.createIndex({ mail: 1 }, { unique: true });
    const docs = [{ mail: 'a' }, { mail: 'a' }, { mail: 'b' }];
    const ordered = await store.error(store.things.insertMany(docs.map((doc) => ({ ...doc }))));
    expect(ordered.code).to.equal(11000);
    expect(await store.things.countDocuments()).to.equal(1);
    const unordered = await store.error(
      store.things.insertMany(
        docs.map((doc) => ({ ...doc, mail: `${doc.mail}2` })),
        { ordered: false },
      ),
    );
    expect(unordered.code).to.equal(11000);
    expect((await store.things.find().toArray()).map(({ mail }) => mail as string)).to.deep.equal(['a', 'a2', 'b2']);
    expect((await store.error(store.things.updateOne({ mail: 'a2' }, { $set: { mail: 'a' } }))).code).to.equal(11000);
    expect((await store.error(store.things.findOneAndUpdate({ mail: 'a2' }, { $set: { mail: 'a' } }))).code).to.equal(11000);
    expect((await store.error(store.things.updateOne({ other: 1 }, { $set: { mail: 'a' } }, { upsert: true }))).code).to.equal(11000);
    const [first] = await store.things.find({ mail: 'a' }).toArray();
    expect((await store.error(store.things.insertOne({ _id: first!._id }))).code).to.equal(11000);
  });

  it('can be compound, sparse and unique', async () => {
    await store.things.createIndex({ org: 1, key: 1 }, { unique: true, name: 'compound' });
    await store.things.createIndex({ s: 1 }, { unique: true, sparse: true });
    await store.things.insertMany([
      { org: 'a', key: 1, live: true },
      { org: 'a', key: 2, live: true },
      { org: 'b', key: 1, s: 1 },
    ]);
    expect((await store.error(store.things.insertOne({ org: 'a', key: 2 }))).code).to.equal(11000);
    expect((await store.error(store.things.insertOne({ org: 'c', key: 1, s: 1 }))).code).to.equal(11000);
    // Rejected writes left nothing in any index.
    await store.things.insertOne({ org: 'c', key: 1, s: 2 });
    expect(await store.things.countDocuments({ org: 'c' })).to.equal(1);
    expect(await store.things.countDocuments({ s: null })).to.equal(2);
    expect((await store.error(store.things.createIndex({ live: 1 }, { unique: true }))).code).to.equal(11000);
    expect((await store.things.listIndexes().toArray()).map(({ name }) => name as string)).to.deep.equal(['_id_', 'compound', 's_1']);
    expect((await store.error(store.things.createIndex({ org: 1, key: 1 }, { name: 'compound' }))).code).to.equal(86);
    expect((await store.error(store.things.createIndex({ org: 1, key: 1 }, { name: 'other' }))).code).to.equal(85);
  });

  it('do not change the results of a query', async () => {
    const values = [null, 0, 1, 2, 'x', [1, 2], [], { a: 1 }, [{ a: 1 }], new Date(0), true];
    const plain = store.db.collection('plain');
    await store.things.createIndex({ v: 1 });
    await store.things.createIndex({ w: 1, v: 1 });
    const docs = [...values.flatMap((v, i) => values.map((w, j) => ({ _id: `${i} ${j}` as never, v, w }))), { _id: 'none' as never }];
    await Promise.all([store.things.insertMany(docs), plain.insertMany(docs)]);
    const ids = async (collection: Collection<Document>, filter: Document) =>
      (await collection.find(filter).toArray()).map(({ _id }) => String(_id)).sort();
    for (const v of values)
      for (const filter of [
        { v },
        { w: v },
        { w: v, v: 1 },
        { v: { $in: [v, 2] } },
        { v: { $in: [v] }, w: { $gt: 0 } },
        { $and: [{ v }, { w: { $ne: v } }] },
        { 'v.a': v },
      ])
        expect(await ids(store.things, filter), JSON.stringify(filter)).to.deep.equal(await ids(plain, filter));
  });

  it('expire documents by TTL', async () => {
    await store.things.createIndex({ at: 1 }, { expireAfterSeconds: 60 });
    await store.things.insertMany([
      { n: 1, at: new Date(Date.now() - 61_000) },
      { n: 2, at: new Date() },
      { n: 3 },
      { n: 4, at: 'no date' },
    ]);
    while ((await store.things.countDocuments()) > 3) await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await store.things.find().toArray()).map(({ n }) => n as number)).to.deep.equal([2, 3, 4]);
  });
});
