/** An embedded document store whose commands fail on request, with one client that meets the faults and one that does not. */
import type { CommandStartedEvent, Db } from 'mongodb';
import { startDocuments } from '../../../local/documents/documents.ts';
import { connectMongo, ensureIndexes } from '../../../stores/mongo.ts';
import { withDatabase } from '../../support/databases.ts';
import { silentLogger } from '../../support/silent-logger.ts';

/** A fault of some commands: the `index`-th that is sent, and those after it, `times` in all. */
export interface Fault {
  kind: FaultKind;
  index: number;
  times: number;
}

/** What a command meets, in the words of MongoDB's `failCommand`, and the commands that can meet it. */
export interface FaultKind {
  data: Readonly<Record<string, unknown>>;
  commands: readonly string[];
}

export interface FaultyServer {
  /** The product's client. */
  db: Db;
  /** Another client of the same database, which meets no faults. */
  healthy: Db;
  /** The commands that the product's client sends while `work` runs. */
  record(work: () => Promise<unknown>): Promise<string[]>;
  arm(fault: Fault): Promise<void>;
  /** @returns the number of commands that failed */
  disarm(): Promise<number>;
  /** Empties all collections. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const PRODUCT = 'product';
/** The driver waits as long before it looks for the new primary. */
const RECOVERY_MS = '5';

/** @param replicaSet whether the driver repeats commands by itself */
export async function startFaultyServer({ replicaSet }: { replicaSet: boolean }): Promise<FaultyServer> {
  const documents = await startDocuments({ testCommands: true, ...(replicaSet && { replicaSet: 'rs0' }) });
  const connect = (appName: string) => {
    const options = { appName, monitorCommands: 'true', minHeartbeatFrequencyMS: RECOVERY_MS };
    return connectMongo({ url: withDatabase(documents.url, 'curbcut', options), logger: silentLogger });
  };
  const [product, other] = [connect(PRODUCT), connect('test')];
  const { db } = other;
  await ensureIndexes(db);
  const configure = async (mode: unknown, data: object = {}): Promise<number> =>
    ((await db.admin().command({ configureFailPoint: 'failCommand', mode, data })) as unknown as { count: number }).count;

  return {
    db: product.db,
    healthy: db,
    async record(work) {
      const names: string[] = [];
      const note = ({ commandName }: CommandStartedEvent) => void names.push(commandName);
      product.db.client.on('commandStarted', note);
      await work().finally(() => product.db.client.off('commandStarted', note));
      return names;
    },
    async arm({ kind, index, times }) {
      await configure({ skip: index, times }, { failCommands: kind.commands, appName: PRODUCT, ...kind.data });
    },
    disarm: () => configure('off'),
    async empty() {
      for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) await db.collection(name).deleteMany({});
    },
    async close() {
      await product.close();
      await other.close();
      await documents.close();
    },
  };
}
