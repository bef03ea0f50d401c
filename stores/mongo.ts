/** The connection to MongoDB (4.4 and later) or an engine with the same protocol, and the indexes of the stores. */
import {
  MongoClient,
  MongoRuntimeError,
  MongoServerError,
  type CreateIndexesOptions,
  type Db,
  type IndexSpecification,
  type MongoClientOptions,
} from 'mongodb';
import { ConfigurationError } from '../platform/configuration.ts';
import { errorMessage } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { mongodbUrlOptions, mongodbUrlProblems } from '../platform/mongodb-url.ts';

/** The database if the URL does not name one. */
const DEFAULT_DATABASE = 'curbcut';

/** MongoDB's code for a server that is not the primary. */
const NOT_WRITABLE_PRIMARY = 10107;

/**
 * Not configurable: balances, keys and verdicts are exact only if each acknowledged write survives a failover and each read sees
 * it. `mongodbUrlProblems` rejects a connection string that asks for less.
 *
 * Reads have no read concern, which means `local`. `majority` would be older, never newer, because it hides what the primary does
 * not know yet to be on a majority. A new primary could then accept a key whose revocation was acknowledged by the old one. Neither
 * protects from an old primary that is cut off and has not stepped down yet (docs/production.md).
 */
const GUARANTEES: MongoClientOptions = {
  readPreference: 'primary',
  writeConcern: { w: 'majority', journal: true },
  // The driver leaves them out on a standalone server, which supports neither.
  retryWrites: true,
  retryReads: true,
  // Otherwise an undefined field would be stored as null.
  ignoreUndefined: true,
};

/** Options that apply unless the connection string sets them. */
const DEFAULTS: MongoClientOptions = {
  appName: 'curbcut',
  serverSelectionTimeoutMS: 2_000,
  connectTimeoutMS: 2_000,
  waitQueueTimeoutMS: 2_000,
  // A server that accepts the connection and never responds must not block a request forever.
  socketTimeoutMS: 5_000,
  heartbeatFrequencyMS: 2_000,
  maxPoolSize: 50,
};

export interface MongoConnection {
  /** The database at the current connection string. */
  db: Db;
  /** Checks the connection. @throws within a few seconds if the database is unavailable or cannot accept writes */
  ping(): Promise<void>;
  /**
   * Replaces the connection by one with another connection string, once that one works. Operations that are under way end on the
   * earlier one.
   * @throws if it does not work; the earlier one stays in use
   */
  replace(url: string): Promise<void>;
  close(): Promise<void>;
}

/** How long an earlier connection stays open for the operations on it, in milliseconds. Longer than any of them. */
const DRAIN_MS = 60_000;

/** The pause after a first connection that failed, in milliseconds. The driver itself has waited for the server before. */
const RECONNECT_MS = 500;

/**
 * Connects in the background. Operations wait for the connection, at most for the server-selection time-out. While the
 * database is down or does not respond, each operation fails within 2 to 5 seconds. The driver reconnects automatically.
 * @param options.url `mongodb://…` or `mongodb+srv://…`; the default database is `curbcut`
 * @param options.logger of outages; none logs nothing
 * @param options.poolSize the maximum number of connections. Default: that of the connection string, or 50
 * @throws ConfigurationError if the URL is malformed or asks for weaker guarantees
 */
export function connectMongo({ url, logger, poolSize }: { url: string; logger?: Logger; poolSize?: number }): MongoConnection {
  const open = (address: string) => {
    const client = createClient(address, poolSize);
    const db = client.db(/^mongodb(?:\+srv)?:\/\/[^/]+\/[^?]/.test(address) ? undefined : DEFAULT_DATABASE);
    return { client, db };
  };
  let current = open(url);
  keepConnecting(current.client);
  if (logger !== undefined) logConnection(current.client, logger);
  const earlier = new Set<MongoClient>();
  const collection: Db['collection'] = (name, options) => forwarding(() => current.db.collection(name, options));
  return {
    db: forwarding(() => current.db, { collection }),
    ping: () => requirePrimary(current.db),
    async replace(address) {
      const next = open(address);
      try {
        await requirePrimary(next.db);
      } catch (error) {
        await next.client.close();
        throw error;
      }
      const { client } = current;
      client.removeAllListeners();
      if (logger !== undefined) logConnection(next.client, logger);
      current = next;
      earlier.add(client);
      setTimeout(() => {
        earlier.delete(client);
        void client.close().catch(() => undefined);
      }, DRAIN_MS).unref();
    },
    async close() {
      current.client.removeAllListeners('topologyClosed');
      await Promise.all([current.client, ...earlier].map((client) => client.close()));
    },
  };
}

/** The driver reconnects by itself, except if its first connection fails: such a client stays closed until it is told to connect. */
function keepConnecting(client: MongoClient): void {
  client.on('topologyClosed', () => {
    setTimeout(() => {
      // Another failure closes it again.
      if (client.listenerCount('topologyClosed') > 0) void client.connect().catch(() => undefined);
    }, RECONNECT_MS).unref();
  });
}

/** @throws if the server cannot be reached or accepts no writes */
async function requirePrimary(db: Db): Promise<void> {
  // `ping` succeeds on a secondary, to which a string with directConnection=true may lead.
  const { isWritablePrimary, ismaster } = await db.command({ hello: 1 });
  if (isWritablePrimary !== true && ismaster !== true)
    throw new MongoServerError({ code: NOT_WRITABLE_PRIMARY, message: 'the server is not the primary of its replica set' });
}

/** An object that passes everything to the current target, except for its own methods. Stores keep such objects for ever. */
function forwarding<T extends object>(current: () => T, own: Partial<T> = {}): T {
  return new Proxy(own as T, {
    get(_own, property) {
      if (Object.hasOwn(own, property)) return own[property as keyof T];
      const target = current();
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function createClient(url: string, poolSize: number | undefined): MongoClient {
  const problems = mongodbUrlProblems(url);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const given = mongodbUrlOptions(url);
  const defaults = Object.fromEntries(Object.entries(DEFAULTS).filter(([name]) => !given.has(name.toLowerCase())));
  try {
    return new MongoClient(url, { ...defaults, ...GUARANTEES, ...(poolSize !== undefined && { maxPoolSize: poolSize, minPoolSize: 0 }) });
  } catch (error) {
    // The driver's messages about options do not contain the rest of the string. Those about hosts may contain a misplaced password.
    const reason = error instanceof MongoRuntimeError ? 'a host is malformed' : errorMessage(error);
    const isUnencoded = /^(Invalid connection string|URI malformed|Password contains unescaped)/.test(reason);
    const hint = isUnencoded ? ' Special characters of its user and password must be percent-encoded, such as @ as %40 and % as %25.' : '';
    throw new ConfigurationError([`MONGODB_URL is (hidden); MongoDB's driver rejects it: ${reason}.${hint}`]);
  }
}

/** Logs outages, and once that the server is not a replica set. */
function logConnection(client: MongoClient, logger: Logger): void {
  let reachable = true;
  let standalone = false;
  client.on('serverHeartbeatFailed', (event) => {
    if (reachable) logger.warn({ server: event.connectionId, err: event.failure }, 'database unavailable');
    reachable = false;
  });
  client.on('serverHeartbeatSucceeded', (event) => {
    if (!reachable) logger.info({ server: event.connectionId }, 'database available again');
    reachable = true;
  });
  client.on('serverDescriptionChanged', ({ address, newDescription }) => {
    if (standalone || newDescription.type !== 'Standalone') return;
    standalone = true;
    logger.info({ server: address }, 'database is a standalone server: no failover and no retryable writes');
  });
}

/**
 * Every index except `_id`: collection, key, options. An index of a list ends with the fields by which the list is sorted,
 * `_id` included; otherwise MongoDB sorts the whole list for each page. TTL indexes only remove old documents; results do
 * not depend on them.
 */
const INDEXES: readonly [collection: string, key: IndexSpecification, options: CreateIndexesOptions][] = [
  ['scans', { submission: 1, createdAt: 1 }, {}],
  ['scans', { phase: 1, updatedAt: 1 }, {}],
  // For retention: of many ended scans, few are due.
  ['scans', { reportsRemoved: 1, finishedAt: 1 }, {}],
  // Sparse, because only scans whose reports are removed again have the field.
  ['scans', { removeAt: 1 }, { sparse: true }],
  // For lists, and for lists of one phase: of many ended scans, few are live.
  ['scans', { organisation: 1, createdAt: -1, _id: -1 }, {}],
  ['scans', { organisation: 1, phase: 1, createdAt: -1, _id: -1 }, {}],
  ['scans', { organisation: 1, site: 1, createdAt: -1, _id: -1 }, {}],
  ['scans', { organisation: 1, passed: 1, createdAt: -1, _id: -1 }, {}],
  // Of any pair of metadata, in all scans and in those of a site. Documents have a list of pairs.
  ['scans', { organisation: 1, metadata: 1, createdAt: -1, _id: -1 }, {}],
  ['scans', { organisation: 1, site: 1, metadata: 1, createdAt: -1, _id: -1 }, {}],
  // For the scans of a site that are comparable.
  ['scans', { organisation: 1, site: 1, optionsKey: 1, createdAt: -1, _id: -1 }, {}],
  // For the scan of a schedule that is the baseline of another one.
  ['scans', { organisation: 1, schedule: 1, createdAt: -1, _id: -1 }, {}],
  // For the trend of a page, and for the scan before a scan.
  ['scans', { organisation: 1, 'options.url': 1, phase: 1, createdAt: -1, _id: -1 }, {}],
  // For the checks of a scan. Sparse, because few scans name another one.
  ['scans', { 'baseline.scan': 1 }, { sparse: true }],
  ['sites', { organisation: 1, createdAt: -1, _id: -1 }, {}],
  ['sites', { organisation: 1, site: 1, createdAt: -1, _id: -1 }, {}],
  ['sites', { finishedAt: 1 }, {}],
  // For the sites of an erased scan.
  ['sites', { scan: 1 }, {}],
  ['sites', { done: 1 }, {}],
  ['sites', { 'history.scan': 1 }, {}],
  ['siteLabels', { organisation: 1, site: 1 }, {}],
  ['knownIssues', { organisation: 1, site: 1, createdAt: -1, _id: -1 }, {}],
  ['knownIssues', { organisation: 1, createdAt: -1, _id: -1 }, {}],
  // A slot is one of those that a site has, and a target is what a known issue of the site is about. Unique, so that no race exceeds
  // their number or accepts the same twice. Sparse, because ended ones of manifests have neither.
  ['knownIssues', { slots: 1 }, { unique: true, sparse: true }],
  ['knownIssues', { targets: 1 }, { unique: true, sparse: true }],
  // Only manifests have the field.
  ['knownIssues', { 'manifest.operatorClass': 1 }, { sparse: true }],
  // Long after its end, when nobody prolongs it any more.
  ['knownIssues', { expiresAt: 1 }, { expireAfterSeconds: 90 * 86_400 }],
  ['chosenKnownIssues', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['knownIssueMatches', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['schedules', { organisation: 1, namespace: 1, name: 1 }, {}],
  ['schedules', { organisation: 1, site: 1, optionsKey: 1, namespace: 1, name: 1 }, {}],
  // For the next runs of sites.
  ['schedules', { organisation: 1, site: 1, nextAt: 1 }, {}],
  // A place of an organisation. Unique, so that no race exceeds their number.
  ['dashboardSchedules', { slot: 1 }, { unique: true }],
  ['dashboardSchedules', { organisation: 1 }, {}],
  // Sparse, because only ended scans whose webhooks are not in the queue have the field.
  ['scans', { unannounced: 1 }, { sparse: true }],
  // Sparse, because only ended scans that are not in the list of sites have the field.
  ['scans', { unlisted: 1 }, { sparse: true }],
  // For operations that are not in the ledger yet.
  ['accounts', { 'ops.relayed': 1 }, {}],
  ['ledger', { organisation: 1, sequence: -1 }, {}],
  ['keys', { hash: 1 }, { unique: true }],
  ['keys', { organisation: 1, createdAt: -1, _id: -1 }, {}],
  // For the live keys of a person: of many keys, most are revoked.
  ['keys', { organisation: 1, rootCreator: 1, revokedAt: 1, createdAt: -1, _id: -1 }, {}],
  // Sparse, because revoked keys do not have the field.
  ['keys', { slot: 1 }, { unique: true, sparse: true }],
  // Sparse, because organisations without namespaces do not have the field.
  ['organisations', { namespaces: 1 }, { unique: true, sparse: true }],
  ['audit', { organisation: 1, at: -1, _id: -1 }, {}],
  ['audit', { organisation: 1, action: 1, at: -1, _id: -1 }, {}],
  ['audit', { organisation: 1, actor: 1, at: -1, _id: -1 }, {}],
  ['audit', { organisation: 1, kind: 1, at: -1, _id: -1 }, {}],
  // Sparse, because changes are kept.
  ['audit', { expiresAt: 1 }, { expireAfterSeconds: 0, sparse: true }],
  // For the organisations of a user.
  ['memberships', { owner: 1 }, {}],
  ['memberships', { member: 1 }, {}],
  ['memberships', { viewer: 1 }, {}],
  // Sparse, because users who never signed in at an identity provider do not have the field.
  ['users', { identity: 1 }, { unique: true, sparse: true }],
  // Sparse, because users without passkeys do not have the field.
  ['users', { 'secondFactors.passkeys.id': 1 }, { unique: true, sparse: true }],
  ['invitations', { hash: 1 }, { unique: true }],
  ['invitations', { organisation: 1, createdAt: -1, _id: -1 }, {}],
  ['invitations', { email: 1, createdAt: -1, _id: -1 }, {}],
  ['invitations', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['oidcFlows', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['pendingSignIns', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['passkeyChallenges', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['passwordResets', { hash: 1 }, {}],
  ['passwordResets', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['sessions', { email: 1, lastSeenAt: -1, _id: 1 }, {}],
  ['sessions', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['limits', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['comparisons', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['comparisons', { scans: 1 }, {}],
  ['idempotency', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  // For the answers about a deleted scan. Sparse, because few are about one.
  ['idempotency', { 'repetition.scan': 1 }, { sparse: true }],
  // For what is due next. What is passed over is in the index, because many deliveries of one webhook may be due.
  ['outbox', { state: 1, priority: 1, dueAt: 1, fairnessKey: 1, organisation: 1 }, {}],
  // For the list of a webhook.
  ['outbox', { fairnessKey: 1, createdAt: -1, _id: -1 }, {}],
  // For deliveries that wait: of a webhook, and of a scan before another one.
  ['outbox', { fairnessKey: 1, state: 1, scan: 1, order: 1 }, {}],
  // For the deliveries of a deleted scan. Sparse, because mails do not have the field.
  ['outbox', { scan: 1 }, { sparse: true }],
  // Sparse, because only mails that ended and still have an address have the field.
  ['outbox', { addressUntil: 1 }, { sparse: true }],
  ['outbox', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  // Sparse, because addresses that only bounced have no token.
  ['mail_addresses', { token: 1 }, { unique: true, sparse: true }],
  ['mail_addresses', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['mail_subscriptions', { token: 1 }, { unique: true }],
  ['mail_subscriptions', { organisation: 1, topics: 1 }, {}],
  ['mail_subscriptions', { email: 1 }, {}],
  // Sparse, because only recipients who have not agreed yet have the field.
  ['mail_subscriptions', { expiresAt: 1 }, { expireAfterSeconds: 0, sparse: true }],
  // Sparse, because only those of weekly summaries have the field.
  ['mail_subscriptions', { weeklyAt: 1 }, { sparse: true }],
  // Sparse, because webhooks of manifests have no slot.
  ['webhooks', { slot: 1 }, { unique: true, sparse: true }],
  ['webhooks', { organisation: 1, createdAt: 1, _id: 1 }, {}],
  ['webhooks', { events: 1 }, {}],
  ['webhook_events', { done: 1, at: 1 }, {}],
  ['webhook_events', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['public_scans', { scanId: 1 }, { unique: true }],
  // Sparse, because these fields are removed: when the claim ends, when the link is taken back, and when the mail was queued.
  ['public_scans', { claim: 1 }, { unique: true, sparse: true }],
  ['public_scans', { share: 1 }, { unique: true, sparse: true }],
  ['public_scans', { unmailedSince: 1 }, { sparse: true }],
  ['public_scans', { expiresAt: 1 }, {}],
];

/** Creates missing indexes. Idempotent, and safe while other replicas do the same. */
export async function ensureIndexes(db: Db): Promise<void> {
  for (const [collection, key, options] of INDEXES) await db.collection(collection).createIndex(key, options);
}
