import { expect } from 'chai';
import { Double, Long, MongoClient, MongoServerError, ObjectId, UUID, type Collection, type Db, type Document } from 'mongodb';
import { connect } from 'node:net';
import { startDocuments, type Documents } from '../../local/documents/documents.ts';

describe('the embedded document store, with the driver', () => {
  let documents: Documents;
  let client: MongoClient;
  let db: Db;
  let things: Collection<Document>;

  before(async () => {
    documents = await startDocuments();
    client = await new MongoClient(documents.url).connect();
  });
  after(async () => {
    await client.close();
    await documents.close();
  });
  beforeEach(() => {
    db = client.db(`t${new ObjectId().toHexString()}`);
    things = db.collection('things');
  });
  afterEach(() => db.dropDatabase());

  const refusal = async (attempt: Promise<unknown>): Promise<MongoServerError> => {
    try {
      await attempt;
    } catch (error) {
      expect(error).to.be.instanceOf(MongoServerError);
      return error as MongoServerError;
    }
    throw new Error('nothing was refused');
  };

  it('keeps every type as it was given', async () => {
    const given = {
      _id: new UUID(),
      long: Long.fromNumber(5),
      double: new Double(5),
      int: 5,
      date: new Date(7),
      none: null,
      deep: { list: [1, { a: [] }] },
    };
    await things.insertOne(given as Document);
    const exact = await things.findOne({ _id: given._id as never }, { promoteValues: false });
    expect([exact!['long'], exact!['double'], exact!['int']].map((value: { _bsontype: string }) => value._bsontype)).to.deep.equal([
      'Long',
      'Double',
      'Int32',
    ]);
    expect(await things.findOne({ long: 5, double: 5, missing: null, none: { $type: 'null' } })).to.deep.equal({
      ...given,
      long: 5,
      double: 5,
    });
    expect(await things.findOne({ none: { $exists: false } })).to.equal(null);
  });

  it('finds with sort, skip, limit and projection, over several batches', async () => {
    await things.insertMany(Array.from({ length: 1000 }, (_, n) => ({ _id: n as never, n, odd: n % 2 === 1 })));
    const found = await things
      .find({ odd: true }, { sort: { n: -1 }, skip: 5, limit: 200, projection: { n: 1, _id: 0 }, batchSize: 30 })
      .toArray();
    expect(found.map(({ n }) => n as number)).to.deep.equal(Array.from({ length: 200 }, (_, i) => 989 - 2 * i));
    expect(found[0]).to.deep.equal({ n: 989 });
    expect((await things.find().toArray()).length).to.equal(1000);
    expect(await things.countDocuments({ n: { $gte: 990 } })).to.equal(10);
    expect(await things.estimatedDocumentCount()).to.equal(1000);
    expect(await things.distinct('odd')).to.deep.equal([false, true]);
  });

  it('lets go of a cursor that is closed early', async () => {
    await things.insertMany(Array.from({ length: 10 }, (_, n) => ({ n })));
    const cursor = things.find({}, { batchSize: 2 });
    await cursor.next();
    const id = cursor.id!;
    await cursor.close();
    expect((await refusal(db.command({ getMore: id, collection: 'things' }))).code).to.equal(43);
  });

  it('tells duplicates by 11000, in order and out of order', async () => {
    await things.createIndex({ mail: 1 }, { unique: true });
    const docs = [{ mail: 'a' }, { mail: 'a' }, { mail: 'b' }];
    const ordered = await refusal(things.insertMany(docs.map((doc) => ({ ...doc }))));
    expect(ordered.code).to.equal(11000);
    expect(await things.countDocuments()).to.equal(1);
    const unordered = await refusal(
      things.insertMany(
        docs.map((doc) => ({ ...doc, mail: `${doc.mail}2` })),
        { ordered: false },
      ),
    );
    expect(unordered.code).to.equal(11000);
    expect(await things.distinct('mail')).to.deep.equal(['a', 'a2', 'b2']);
    expect((await refusal(things.updateOne({ mail: 'a2' }, { $set: { mail: 'a' } }))).code).to.equal(11000);
    expect((await refusal(things.findOneAndUpdate({ mail: 'a2' }, { $set: { mail: 'a' } }))).code).to.equal(11000);
    expect((await refusal(things.updateOne({ other: 1 }, { $set: { mail: 'a' } }, { upsert: true }))).code).to.equal(11000);
    const [first] = await things.find({ mail: 'a' }).toArray();
    expect((await refusal(things.insertOne({ _id: first!._id }))).code).to.equal(11000);
  });

  it('keeps compound, sparse and partial unique indexes', async () => {
    await things.createIndex({ org: 1, key: 1 }, { unique: true, name: 'compound' });
    await things.createIndex({ s: 1 }, { unique: true, sparse: true });
    await things.createIndex({ p: 1 }, { unique: true, partialFilterExpression: { live: true } });
    await things.insertMany([
      { org: 'a', key: 1, p: 1, live: true },
      { org: 'a', key: 2, p: 1, live: false },
      { org: 'b', key: 1, s: 1 },
    ]);
    expect((await refusal(things.insertOne({ org: 'a', key: 2 }))).code).to.equal(11000);
    expect((await refusal(things.insertOne({ org: 'c', key: 1, s: 1 }))).code).to.equal(11000);
    expect((await refusal(things.insertOne({ org: 'c', key: 2, p: 1, live: true }))).code).to.equal(11000);
    // What was refused left nothing behind in any of the indexes.
    await things.insertOne({ org: 'c', key: 2, p: 2, live: true });
    expect(await things.countDocuments({ org: 'c' })).to.equal(1);
    await things.updateOne({ org: 'a', key: 1 }, { $set: { live: false } });
    await things.insertOne({ org: 'd', key: 1, p: 1, live: true });
    expect(await things.countDocuments({ s: null })).to.equal(4);
    expect((await refusal(things.createIndex({ live: 1 }, { unique: true }))).code).to.equal(11000);
    expect((await things.listIndexes().toArray()).map(({ name }) => name as string)).to.deep.equal(['_id_', 'compound', 's_1', 'p_1']);
    expect((await refusal(things.createIndex({ org: 1, key: 1 }, { name: 'compound' }))).code).to.equal(86);
    expect((await refusal(things.createIndex({ org: 1, key: 1 }, { name: 'other' }))).code).to.equal(85);
    await things.dropIndex('compound');
    await things.insertOne({ org: 'a', key: 2 });
    expect((await refusal(things.dropIndex('compound'))).code).to.equal(27);
  });

  it('finds the same with an index as without', async () => {
    const values = [null, 0, 1, 2, 'x', [1, 2], [], { a: 1 }, [{ a: 1 }], new Date(0), true];
    const plain = db.collection('plain');
    await things.createIndex({ v: 1 });
    await things.createIndex({ w: 1, v: 1 });
    const docs = [...values.flatMap((v, i) => values.map((w, j) => ({ _id: `${i} ${j}` as never, v, w }))), { _id: 'none' as never }];
    await Promise.all([things.insertMany(docs), plain.insertMany(docs)]);
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
        expect(await ids(things, filter), JSON.stringify(filter)).to.deep.equal(await ids(plain, filter));
  });

  it('forgets documents whose time is over', async () => {
    await things.createIndex({ at: 1 }, { expireAfterSeconds: 60 });
    await things.insertMany([{ n: 1, at: new Date(Date.now() - 61_000) }, { n: 2, at: new Date() }, { n: 3 }, { n: 4, at: 'no date' }]);
    while ((await things.countDocuments()) > 3) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await things.distinct('n')).to.deep.equal([2, 3, 4]);
  });

  it('updates one, many, none, and upserts', async () => {
    await things.insertMany([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(await things.updateMany({ n: { $gt: 1 } }, { $set: { big: true } })).to.include({ matchedCount: 2, modifiedCount: 2 });
    expect(await things.updateMany({}, { $set: { big: true } })).to.include({ matchedCount: 3, modifiedCount: 1 });
    expect(await things.updateOne({ n: 9 }, { $set: { big: true } })).to.include({ matchedCount: 0, modifiedCount: 0, upsertedCount: 0 });
    const upserted = await things.updateOne(
      { _id: 'x' as never, n: 9 },
      { $setOnInsert: { made: true }, $inc: { count: 1 } },
      { upsert: true },
    );
    expect(upserted).to.include({ upsertedCount: 1, upsertedId: 'x' });
    expect(await things.findOne({ _id: 'x' as never })).to.deep.equal({ _id: 'x', n: 9, made: true, count: 1 });
    expect(await things.replaceOne({ n: 9 }, { only: 1 })).to.include({ modifiedCount: 1 });
    expect(await things.findOne({ only: 1 })).to.deep.equal({ _id: 'x', only: 1 });
    expect(await things.deleteOne({ big: true })).to.include({ deletedCount: 1 });
    expect(await things.deleteMany({ big: true })).to.include({ deletedCount: 2 });
    const bulk = await things.bulkWrite([
      { insertOne: { document: { n: 1 } } },
      { updateOne: { filter: { n: 1 }, update: { $inc: { n: 1 } } } },
      { deleteOne: { filter: { only: 1 } } },
    ]);
    expect(bulk).to.include({ insertedCount: 1, modifiedCount: 1, deletedCount: 1 });
  });

  it('finds and modifies: old or new, sorted, projected, upserted, removed', async () => {
    await things.insertMany([
      { n: 1, s: 'a' },
      { n: 2, s: 'b' },
    ]);
    expect(await things.findOneAndUpdate({}, { $inc: { n: 10 } }, { sort: { n: -1 }, projection: { n: 1, _id: 0 } })).to.deep.equal({
      n: 2,
    });
    expect((await things.findOneAndUpdate({ s: 'b' }, [{ $set: { n: { $add: ['$n', 1] } } }], { returnDocument: 'after' }))!['n']).to.equal(
      13,
    );
    expect(await things.findOneAndUpdate({ s: 'c' }, { $set: { n: 0 } })).to.equal(null);
    expect(await things.findOneAndUpdate({ s: 'c' }, { $set: { n: 0 } }, { upsert: true })).to.equal(null);
    expect((await things.findOneAndUpdate({ s: 'd' }, { $set: { n: 0 } }, { upsert: true, returnDocument: 'after' }))!['s']).to.equal('d');
    expect((await things.findOneAndDelete({}, { sort: { n: 1, s: 1 } }))!['s']).to.equal('c');
    expect((await things.findOneAndReplace({ s: 'd' }, { s: 'e' }, { returnDocument: 'after' }))!['s']).to.equal('e');
    expect(await things.countDocuments()).to.equal(3);
    const told = await things.findOneAndUpdate({ s: 'e' }, { $set: { n: 1 } }, { includeResultMetadata: true });
    expect(told.lastErrorObject).to.deep.equal({ n: 1, updatedExisting: true });
  });

  it('lets exactly as many through as there are, however many ask at once', async () => {
    await things.insertOne({ _id: 'account' as never, available: 40, held: {} });
    const reserve = (scan: string) =>
      things.findOneAndUpdate(
        {
          _id: 'account' as never,
          available: { $gte: 1 },
          [`held.${scan}`]: { $exists: false },
          $expr: { $lt: ['$$NOW', new Date(Date.now() + 60_000)] },
        },
        [{ $set: { available: { $subtract: ['$available', 1] }, held: { $mergeObjects: ['$held', { [scan]: 1 }] }, at: '$$NOW' } }],
        { returnDocument: 'after' },
      );
    const others = await new MongoClient(documents.url).connect();
    const outcomes = await Promise.all(Array.from({ length: 200 }, (_, i) => reserve(`scan-${i % 100}`)));
    await others.close();
    const account = await things.findOne({ _id: 'account' as never });
    expect(outcomes.filter((outcome) => outcome !== null).length).to.equal(40);
    expect([account!['available'], Object.keys(account!['held'] as object).length]).to.deep.equal([0, 40]);
    expect(account!['at']).to.be.instanceOf(Date);
  });

  it('lets one of two racing upserts make the document', async () => {
    await things.createIndex({ key: 1 }, { unique: true });
    await Promise.all(Array.from({ length: 50 }, () => things.updateOne({ key: 'k' }, { $inc: { n: 1 } }, { upsert: true })));
    expect(await things.find({}, { projection: { _id: 0 } }).toArray()).to.deep.equal([{ key: 'k', n: 50 }]);
  });

  it('aggregates', async () => {
    await things.insertMany([
      { org: 'a', n: 1 },
      { org: 'a', n: 2 },
      { org: 'b', n: 3 },
    ]);
    const rows = await things
      .aggregate([
        { $match: { n: { $gt: 0 } } },
        { $group: { _id: '$org', n: { $sum: '$n' } } },
        { $sort: { n: -1, _id: 1 } },
        { $limit: 5 },
        { $project: { org: '$_id', n: 1, _id: 0 } },
      ])
      .toArray();
    expect(rows).to.deep.equal([{ n: 3, org: 'a' }, { n: 3, org: 'b' }]); // prettier-ignore
    await db.collection('names').insertOne({ _id: 'a' as never, name: 'A' });
    const joined = await things
      .aggregate([{ $match: { n: 1 } }, { $lookup: { from: 'names', localField: 'org', foreignField: '_id', as: 'names' } }])
      .toArray();
    expect(joined[0]!['names']).to.deep.equal([{ _id: 'a', name: 'A' }]);
  });

  it('lists, makes and drops collections', async () => {
    await db.createCollection('made');
    await things.insertOne({});
    expect((await db.listCollections().toArray()).map(({ name }) => name).sort()).to.deep.equal(['made', 'things']);
    expect((await db.listCollections({ name: 'made' }, { nameOnly: true }).toArray()).length).to.equal(1);
    expect((await refusal(db.createCollection('made'))).code).to.equal(48);
    await things.drop();
    expect(await things.countDocuments()).to.equal(0);
    expect((await db.admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name)).to.include(db.databaseName);
  });

  it('refuses by name what it does not know, and what would mean something else', async () => {
    const unknown = await refusal(db.command({ mapReduce: 'things' }));
    expect([unknown.code, unknown.codeName, unknown.message]).to.deep.equal([59, 'CommandNotFound', "no such command: 'mapReduce'"]);
    expect((await refusal(things.find({}, { collation: { locale: 'de' } }).toArray())).code).to.equal(115);
    expect((await refusal(things.updateOne({}, { $set: { 'a.$[x]': 1 } }, { arrayFilters: [{ x: 1 }] }))).code).to.equal(115);
    expect((await refusal(things.createIndex({ a: 'text' }))).code).to.equal(115);
    const session = client.startSession();
    session.startTransaction();
    expect((await refusal(things.findOne({}, { session }))).code).to.equal(20);
    await session.endSession();
    expect(await things.countDocuments()).to.equal(0);
  });

  it('says what it is', async () => {
    expect(await db.command({ ping: 1 })).to.deep.equal({ ok: 1 });
    expect((await db.admin().buildInfo())['version']).to.equal('4.4.0');
    expect(await db.command({ hello: 1 })).to.include({ isWritablePrimary: true, maxWireVersion: 9 });
  });

  it('drops a connection that sends no messages, and serves the others', async () => {
    const { port, hostname } = new URL(documents.url);
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
    expect(await db.command({ ping: 1 })).to.deep.equal({ ok: 1 });
  });

  it('takes messages in whatever pieces they come', async () => {
    await things.insertOne({ text: 'x'.repeat(3_000_000) });
    expect(((await things.findOne())!['text'] as string).length).to.equal(3_000_000);
    expect((await refusal(things.insertOne({ text: 'x'.repeat(16 * 1024 * 1024 - 20) })).catch((error: Error) => error)).message).to.match(
      /size|too large|larger/i,
    );
  });
});
