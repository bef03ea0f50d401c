import { connect } from 'node:net';
import { expect } from 'chai';
import { UUID, type Document } from 'mongodb';
import { documentStore } from './document-store.ts';

describe('document store with the MongoDB driver', () => {
  const store = documentStore();

  it('returns values as they were stored', async () => {
    const given = {
      _id: new UUID(),
      int: 5,
      fraction: 0.5,
      date: new Date(7),
      none: null,
      deep: { list: [1, { a: [] }] },
    };
    await store.things.insertOne(given as Document);
    expect(await store.things.findOne({ _id: given._id as never, int: 5, missing: null })).to.deep.equal(given);
    expect(await store.things.findOne({ none: { $exists: false } })).to.equal(null);
  });

  it('finds with sort, skip, limit and projection, over several batches', async () => {
    await store.things.insertMany(Array.from({ length: 1000 }, (_, n) => ({ _id: n as never, n, odd: n % 2 === 1 })));
    const found = await store.things
      .find({ odd: true }, { sort: { n: -1 }, skip: 5, limit: 200, projection: { n: 1, _id: 0 }, batchSize: 30 })
      .toArray();
    expect(found.map(({ n }) => n as number)).to.deep.equal(Array.from({ length: 200 }, (_, i) => 989 - 2 * i));
    expect(found[0]).to.deep.equal({ n: 989 });
    expect((await store.things.find().toArray()).length).to.equal(1000);
    expect(await store.things.countDocuments({ n: { $gte: 990 } })).to.equal(10);
  });

  it('releases a cursor that is closed early', async () => {
    await store.things.insertMany(Array.from({ length: 10 }, (_, n) => ({ n })));
    const cursor = store.things.find({}, { batchSize: 2 });
    await cursor.next();
    const id = cursor.id!;
    await cursor.close();
    expect((await store.error(store.db.command({ getMore: id, collection: 'things' }))).code).to.equal(43);
  });

  it('updates one, many, none, and upserts', async () => {
    await store.things.insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(await store.things.updateMany({ n: { $gt: 1 } }, { $set: { big: true } })).to.include({ matchedCount: 2, modifiedCount: 2 });
    expect(await store.things.updateMany({}, { $set: { big: true } })).to.include({ matchedCount: 3, modifiedCount: 1 });
    expect(await store.things.updateOne({ n: 9 }, { $set: { big: true } })).to.include({
      matchedCount: 0,
      modifiedCount: 0,
      upsertedCount: 0,
    });
    const upserted = await store.things.updateOne(
      { _id: 'x' as never, n: 9 },
      { $setOnInsert: { made: true }, $inc: { count: 1 } },
      { upsert: true },
    );
    expect(upserted).to.include({ upsertedCount: 1, upsertedId: 'x' });
    expect(await store.things.findOne({ _id: 'x' as never })).to.deep.equal({ _id: 'x', n: 9, made: true, count: 1 });
    expect(await store.things.replaceOne({ n: 9 }, { only: 1 })).to.include({ modifiedCount: 1 });
    expect(await store.things.findOne({ only: 1 })).to.deep.equal({ _id: 'x', only: 1 });
    expect(await store.things.deleteOne({ big: true })).to.include({ deletedCount: 1 });
    expect(await store.things.deleteMany({ big: true })).to.include({ deletedCount: 2 });
    const bulk = await store.things.bulkWrite([
      { insertOne: { document: { n: 1 } } },
      { updateOne: { filter: { n: 1 }, update: { $inc: { n: 1 } } } },
      { deleteOne: { filter: { only: 1 } } },
    ]);
    expect(bulk).to.include({ insertedCount: 1, modifiedCount: 1, deletedCount: 1 });
  });

  it('finds and modifies: old or new, sorted, projected, upserted, removed', async () => {
    await store.things.insertMany([
      { n: 1, s: 'a' },
      { n: 2, s: 'b' },
    ]);
    expect(await store.things.findOneAndUpdate({}, { $inc: { n: 10 } }, { sort: { n: -1 }, projection: { n: 1, _id: 0 } })).to.deep.equal({
      n: 2,
    });
    expect(
      (await store.things.findOneAndUpdate({ s: 'b' }, [{ $set: { n: { $add: ['$n', 1] } } }], { returnDocument: 'after' }))!['n'],
    ).to.equal(13);
    expect(await store.things.findOneAndUpdate({ s: 'c' }, { $set: { n: 0 } })).to.equal(null);
    expect(await store.things.findOneAndUpdate({ s: 'c' }, { $set: { n: 0 } }, { upsert: true })).to.equal(null);
    expect((await store.things.findOneAndUpdate({ s: 'd' }, { $set: { n: 0 } }, { upsert: true, returnDocument: 'after' }))!['s']).to.equal(
      'd',
    );
    expect((await store.things.findOneAndDelete({}, { sort: { n: 1, s: 1 } }))!['s']).to.equal('c');
    expect((await store.things.findOneAndReplace({ s: 'd' }, { s: 'e' }, { returnDocument: 'after' }))!['s']).to.equal('e');
    expect(await store.things.countDocuments()).to.equal(3);
    const told = await store.things.findOneAndUpdate({ s: 'e' }, { $set: { n: 1 } }, { includeResultMetadata: true });
    expect(told.lastErrorObject).to.deep.equal({ n: 1, updatedExisting: true });
  });

  it('creates one document in two concurrent upserts', async () => {
    await store.things.createIndex({ key: 1 }, { unique: true });
    await Promise.all(Array.from({ length: 50 }, () => store.things.updateOne({ key: 'k' }, { $inc: { n: 1 } }, { upsert: true })));
    expect(await store.things.find({}, { projection: { _id: 0 } }).toArray()).to.deep.equal([{ key: 'k', n: 50 }]);
  });

  it('lists and drops collections', async () => {
    await store.things.insertOne({});
    expect((await store.db.listCollections().toArray()).map(({ name }) => name)).to.deep.equal(['things']);
    await store.things.drop();
    expect(await store.things.countDocuments()).to.equal(0);
    expect(await store.db.listCollections().toArray()).to.deep.equal([]);
  });

  it('rejects unsupported commands and options by name', async () => {
    const unknown = await store.error(store.db.command({ mapReduce: 'things' }));
    expect([unknown.code, unknown.codeName, unknown.message]).to.deep.equal([59, 'CommandNotFound', "no such command: 'mapReduce'"]);
    expect((await store.error(store.things.find({}, { collation: { locale: 'de' } }).toArray())).code).to.equal(115);
    expect((await store.error(store.things.updateOne({}, { $set: { 'a.$[x]': 1 } }, { arrayFilters: [{ x: 1 }] }))).code).to.equal(115);
    expect((await store.error(store.things.createIndex({ a: 'text' }))).code).to.equal(115);
    const session = store.client.startSession();
    session.startTransaction();
    expect((await store.error(store.things.findOne({}, { session }))).code).to.equal(20);
    await session.endSession();
    expect(await store.things.countDocuments()).to.equal(0);
  });

  it('closes a connection that sends invalid bytes and serves the others', async () => {
    const { port, hostname } = new URL(store.documents.url);
    for (const bytes of [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(64),
      Buffer.concat([Buffer.from([30, 0, 0, 0]), Buffer.alloc(26, 0xff)]),
    ])
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => socket.write(bytes));
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
    expect(await store.db.command({ ping: 1 })).to.deep.equal({ ok: 1 });
  });

  it('reads messages that arrive in any chunks', async () => {
    await store.things.insertOne({ text: 'x'.repeat(3_000_000) });
    expect(((await store.things.findOne())!['text'] as string).length).to.equal(3_000_000);
    expect(
      (await store.error(store.things.insertOne({ text: 'x'.repeat(16 * 1024 * 1024 - 20) })).catch((error: Error) => error)).message,
    ).to.match(/size|too large|larger/i);
  });
});
