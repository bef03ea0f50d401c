/** A document store for tests with the driver's client, and a new database for each test. */
import { expect } from 'chai';
import { MongoClient, MongoServerError, ObjectId, type Collection, type Db, type Document } from 'mongodb';
import { startDocuments, type Documents } from '../../documents/documents.ts';

export interface DocumentStore {
  documents: Documents;
  client: MongoClient;
  db: Db;
  things: Collection<Document>;
  /** The server's error. @throws AssertionError if the attempt succeeds */
  error(attempt: Promise<unknown>): Promise<MongoServerError>;
}

/** Starts a store for the calling suite and stops it afterwards. */
export function documentStore(): DocumentStore {
  const store: DocumentStore = {
    documents: undefined as never,
    client: undefined as never,
    db: undefined as never,
    things: undefined as never,
    async error(attempt) {
      const outcome = await attempt.then(
        () => null,
        (error: unknown) => error,
      );
      expect(outcome).to.be.instanceOf(MongoServerError);
      return outcome as MongoServerError;
    },
  };
  before(async () => {
    store.documents = await startDocuments();
    store.client = await new MongoClient(store.documents.url).connect();
  });
  after(async () => {
    await store.client.close();
    await store.documents.close();
  });
  beforeEach(() => {
    store.db = store.client.db(`t${new ObjectId().toHexString()}`);
    store.things = store.db.collection('things');
  });
  afterEach(() => store.db.dropDatabase());
  return store;
}
