/** Faults on request, and retryable writes of a replica set. */
import { expect } from 'chai';
import { MongoClient, MongoNetworkError, MongoServerError, type Collection, type Document } from 'mongodb';
import { startDocuments, type Documents } from '../../documents/documents.ts';

interface Counter {
  _id: string;
  n: number;
}

/** Answers with the error, or null. */
const failure = (attempt: Promise<unknown>): Promise<unknown> => attempt.then(() => null, (error: unknown) => error); // prettier-ignore

const NOT_PRIMARY = { errorCode: 10107, errorLabels: ['RetryableWriteError'] };
const LOST = { closeConnection: true, afterExecution: true };
const UNREPLICATED = { writeConcernError: { code: 91, errmsg: 'shutting down' }, errorLabels: ['RetryableWriteError'] };

for (const replicaSet of [undefined, 'rs0'])
  describe(`faults of a document store, ${replicaSet === undefined ? 'standalone' : 'in a replica set'}`, () => {
    let documents: Documents;
    let client: MongoClient;
    let counters: Collection<Counter>;
    before(async () => {
      documents = await startDocuments({ replicaSet, testCommands: true });
      client = new MongoClient(`${documents.url}&minHeartbeatFrequencyMS=5&retryWrites=true`);
      counters = client.db('test').collection<Counter>('counters');
      await client.connect();
    });
    beforeEach(async () => {
      await counters.deleteMany({});
      await counters.insertOne({ _id: 'a', n: 0 });
    });
    after(async () => {
      await client.close();
      await documents.close();
    });

    const configure = (mode: unknown, data: Document = {}) =>
      client.db('admin').command({ configureFailPoint: 'failCommand', mode, data: { failCommands: ['update', 'findAndModify'], ...data } });
    const increment = () => counters.findOneAndUpdate({ _id: 'a' }, { $inc: { n: 1 } }, { returnDocument: 'after' });
    const value = async () => (await counters.findOne({ _id: 'a' }))?.n;

    for (const [name, data, applied] of [
      ['a refusal', NOT_PRIMARY, 0],
      ['a lost request', { closeConnection: true }, 0],
      ['a lost answer', LOST, 1],
      ['a write that no majority has', UNREPLICATED, 1],
    ] as const)
      if (replicaSet === undefined)
        it(`${name} reaches the caller, and the write took effect ${applied} times`, async () => {
          await configure({ times: 1 }, data);
          const error = await failure(increment());
          expect(error).to.be.instanceOf('closeConnection' in data ? MongoNetworkError : MongoServerError);
          expect(await value()).to.equal(applied);
          expect((await increment())?.n).to.equal(applied + 1);
        });
      else
        it(`${name} is repeated by the driver, and the write takes effect once`, async () => {
          await configure({ times: 1 }, data);
          expect((await increment())?.n).to.equal(1);
          expect(await value()).to.equal(1);
          expect((await increment())?.n).to.equal(2);
          await configure({ times: 2 }, data);
          expect(await failure(increment())).to.be.instanceOf(Error);
          expect(await value()).to.equal(2 + applied);
        });

    if (replicaSet !== undefined) return;

    it('hit the commands that the mode says, and report how many they hit', async () => {
      const data = { failCommands: ['find'], errorCode: 2 };
      const outcomes = async (): Promise<boolean[]> => {
        const errors: unknown[] = [];
        for (let n = 0; n < 4; n += 1) errors.push(await failure(counters.findOne({ _id: 'a' })));
        return errors.map((error) => error === null);
      };
      await configure({ skip: 1, times: 2 }, data);
      expect(await outcomes()).to.deep.equal([true, false, false, true]);
      expect(await configure({ skip: 3 }, data)).to.include({ count: 2 });
      expect(await outcomes()).to.deep.equal([true, true, true, false]);
      await configure('alwaysOn', data);
      expect(await outcomes()).to.deep.equal([false, false, false, false]);
      await configure('off');
      expect(await outcomes()).to.deep.equal([true, true, true, true]);
    });

    it('hit only the client with the name', async () => {
      const other = new MongoClient(`${documents.url}&appName=other`);
      const others = other.db('test').collection<Counter>('counters');
      await configure('alwaysOn', { failCommands: ['find'], errorCode: 2, appName: 'other' });
      expect(await failure(others.findOne({ _id: 'a' }))).to.be.instanceOf(MongoServerError);
      expect(await value()).to.equal(0);
      await configure('off');
      await other.close();
    });

    it('are rejected if they are not supported', async () => {
      for (const attempt of [configure({ often: 1 }), configure('off', { blockTimeMS: 5 })])
        expect(await failure(attempt)).to.be.instanceOf(MongoServerError);
      const other = client.db('admin').command({ configureFailPoint: 'other', mode: 'off' });
      expect(await failure(other)).to.be.instanceOf(MongoServerError);
    });
  });

it('a document store without test commands has no fail points', async () => {
  const documents = await startDocuments();
  const client = new MongoClient(documents.url);
  expect(await failure(client.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' }))).to.include({ code: 59 });
  await client.close();
  await documents.close();
});
