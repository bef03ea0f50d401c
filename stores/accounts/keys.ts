/** API keys. The secret is returned only when a key is issued; the store keeps its SHA-256. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Collection, Db, Document, Filter } from 'mongodb';
import { KEY_SCOPES, type KeyCreator, type KeyScope, permissionsOf, type Role, ROLES } from '../../core/accounts.ts';
import { ANONYMOUS, type Organisation } from '../../core/organisation.ts';
import type { Clock } from '../../platform/clock.ts';
import { hashOf, isWellFormed, makeKey } from './key-format.ts';
import { insertNew } from '../mongo-retry.ts';
import { chooseSlot, LIVE_KEYS_MAX, type SlotHolder } from './key-slots.ts';
import { createAuditLog } from './audit.ts';
import { createKeyUses } from './key-uses.ts';
import { type ScanDocument, type ScanRow, toVisibleRow } from '../scans/scan-row.ts';
import { type MembershipDocument, MEMBERSHIPS, roleIn } from './memberships.ts';
import { toOrganisation, type OrganisationDocument } from './organisation-document.ts';

export interface ApiKey {
  id: string;
  organisation: string;
  name: string;
  /** What requests with the key may do: never more than the present or last role of its root creator permits. */
  scopes: readonly KeyScope[];
  /** A test key (`KeyActor`). */
  test: boolean;
  /** The role that bounds the scopes: the root creator's, or the last one if that person has left. Null: none does. */
  limit: { role: Role; left: boolean } | null;
  last4: string;
  createdAt: Date;
  /** As the audit log names actors. */
  createdBy: string;
  /** The first creator of the chain of keys, or who adopted the key (`KeyCreator`). */
  rootCreator: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** As `createdBy`. Null also in a live key. */
  revokedBy: string | null;
  lastUsedAt: Date | null;
}

export const KEY_STATUSES = ['live', 'expired', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

export function statusOf({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: Date): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'live';
}

export type IssuedKey =
  /** The stored key and its secret, which cannot be retrieved later. */
  | { ok: true; key: ApiKey; secret: string }
  /** The organisation has `LIVE_KEYS_MAX` live keys. */
  | { ok: false; reason: 'too_many_keys' }
  /** A key with the requested ID exists. Its secret cannot be retrieved. */
  | { ok: false; reason: 'already_issued' };

export interface KeyRequest {
  organisation: string;
  name: string;
  expiresAt: Date | null;
  /** Default: all. */
  scopes?: readonly KeyScope[];
  /** Default: false. */
  test?: boolean;
  /** A UUID, so that a repeated request does not issue a second key. Default: a random one. */
  id?: string;
  creator: KeyCreator;
}

/** A part of the keys of an organisation, newest first. */
export interface KeyPage {
  /** Default: keys of every status. */
  status?: KeyStatus;
  /** Only keys after this one in the list. */
  after?: { at: Date; id: string } | null;
  limit: number;
}

/** A live key and the organisation that it belongs to, which may be blocked. */
export interface KeyHolder {
  key: ApiKey;
  organisation: Organisation;
  /** The scan that was asked for; null if the organisation has none of that ID. Absent if none was asked for. */
  scan?: ScanRow | null;
}

/**
 * `slot` is absent in a revoked key, and in an expired one that had to give it up. `test` is absent in other keys. `scopes` are those that
 * it was issued with.
 */
type KeyDocument = Omit<ApiKey, 'id' | 'test' | 'limit' | 'revokedBy'> & {
  _id: string;
  /** Bounds the key if its root creator is no member any more: the last role. */
  cap?: Role;
  /** The present role of the root creator; null if the creator has none. Only in results of `WITH_ROLE` and `withRoles`. */
  role?: Role | null;
  hash: string;
  test?: true;
  revokedBy?: string;
  slot?: string;
};
type HeldKeyDocument = KeyDocument & { holders: OrganisationDocument[]; scanId?: string; scans?: ScanDocument[] };

function toKey({ _id: id, hash: _h, slot: _s, cap, role, ...rest }: KeyDocument): ApiKey {
  // A key of `curbcut-admin` has neither.
  const bound = role ?? cap;
  const limit = bound === undefined ? null : { role: bound, left: role == null };
  const permitted: readonly string[] | null = bound === undefined ? null : permissionsOf(bound);
  const scopes = rest.scopes.filter((scope) => permitted === null || permitted.includes(scope));
  return { ...rest, id, scopes, limit, test: rest.test ?? false, revokedBy: rest.revokedBy ?? null };
}

/** API keys in MongoDB. Nothing is cached, so every replica rejects a revoked key immediately. */
export function createKeys(db: Db, { now = () => new Date(), monotonic }: Partial<Pick<Clock, 'now' | 'monotonic'>> = {}) {
  const keys = db.collection<KeyDocument>('keys');
  const uses = createKeyUses(db.collection('keys'), createAuditLog(db, now), { now, monotonic });

  async function recogniseAll(secrets: readonly string[], scan?: string): Promise<Map<string, KeyHolder>> {
    const byHash = new Map(secrets.filter(isWellFormed).map((secret) => [hashOf(secret), secret]));
    if (byHash.size === 0) return new Map();
    const holders = await findHolders(keys, { hash: { $in: [...byHash.keys()] } }, now(), scan);
    return new Map(holders.map(({ hash, ...holder }) => [byHash.get(hash)!, holder]));
  }

  /** The live keys of an organisation, newest first. @param filter default: all */
  async function live(organisation: string, filter: Filter<KeyDocument> = {}): Promise<ApiKey[]> {
    const at = now();
    const found = await keys
      .find({ ...filter, organisation, revokedAt: null })
      .sort({ createdAt: -1, _id: -1 })
      .toArray();
    return (await withRoles(found)).filter((key) => statusOf(key, at) === 'live');
  }

  /** Revokes them. It does not end before there is none. @returns the revoked keys */
  async function revokeLive(organisation: string, filter: Filter<KeyDocument>, by?: string): Promise<ApiKey[]> {
    const revoked: ApiKey[] = [];
    // Repeated until none is found: while one key of a chain is being revoked, it may still create another one.
    for (;;) {
      const found = await live(organisation, filter);
      if (found.length === 0) return revoked;
      // One update per key, because the driver repeats no update of several documents after a failover.
      const update = revocation(now(), by);
      await keys.bulkWrite(
        found.map(({ id }) => ({ updateOne: { filter: { _id: id, revokedAt: null }, update } })),
        { ordered: false },
      );
      revoked.push(...found.map((key) => ({ ...key, ...update.$set, revokedBy: by ?? null })));
    }
  }

  /** Converts keys of one organisation, as `WITH_ROLE` does. */
  async function withRoles(documents: readonly KeyDocument[]): Promise<ApiKey[]> {
    const [first] = documents;
    if (first === undefined) return [];
    const members = await db.collection<MembershipDocument>(MEMBERSHIPS).findOne({ _id: first.organisation });
    return documents.map((document) => toKey({ ...document, role: roleIn(members, document.rootCreator) }));
  }

  return {
    ...uses,

    /** Issues a key, if the organisation has fewer than `LIVE_KEYS_MAX` live ones. */
    async issue(request: KeyRequest): Promise<IssuedKey> {
      const { organisation, name, expiresAt, scopes = KEY_SCOPES, test = false, id = randomUUID(), creator } = request;
      if (organisation === ANONYMOUS) throw new RangeError('the organisation of public scans cannot hold keys');
      const secret = makeKey(randomBytes, { test });
      const document: KeyDocument = {
        _id: id,
        organisation,
        name,
        scopes: KEY_SCOPES.filter((scope) => scopes.includes(scope)),
        ...(test && { test }),
        last4: secret.slice(-4),
        hash: hashOf(secret),
        createdAt: now(),
        ...creator,
        expiresAt,
        revokedAt: null,
        lastUsedAt: null,
      };
      const stored = await insertIntoSlot(keys, document);
      return typeof stored === 'string' ? { ok: false, reason: stored } : { ok: true, key: toKey(stored), secret };
    },

    /** The same for several secrets, in one command. Returns those that are live keys, by secret. */
    recogniseAll,

    /** Returns those of the keys that may be used now: live, and of an organisation that is not blocked. One command. */
    async usable(ids: readonly string[]): Promise<Set<string>> {
      if (ids.length === 0) return new Set();
      const holders = await findHolders(keys, { _id: { $in: [...ids] } }, now());
      return new Set(holders.filter(({ organisation }) => !organisation.blocked).map(({ key }) => key.id));
    },

    /**
     * Returns the live key of a secret with its organisation, in one command, or null if the key is malformed (checked without
     * a command), unknown, expired or revoked.
     * @param scan the ID of a scan to read in the same command
     */
    recognise: async (secret: string, scan?: string): Promise<KeyHolder | null> => (await recogniseAll([secret], scan)).get(secret) ?? null,

    /** Returns a key of an organisation; null if it has no key of this ID. */
    async find(organisation: string, id: string): Promise<ApiKey | null> {
      return (await withRoles(await keys.find({ _id: id, organisation }).toArray()))[0] ?? null;
    },

    /** Returns the names of keys of an organisation, also of revoked ones, by ID. */
    async names(organisation: string, ids: readonly string[]): Promise<Map<string, string>> {
      const found = await keys.find({ _id: { $in: [...ids] }, organisation }, { projection: { name: 1 } }).toArray();
      return new Map(found.map(({ _id, name }) => [_id, name]));
    },

    /** Returns keys of an organisation, newest first. */
    async list(organisation: string, { status, after, limit }: KeyPage): Promise<ApiKey[]> {
      const filter: Filter<KeyDocument> = {
        $and: [
          { organisation },
          status === undefined ? {} : withStatus(status, now()),
          // `_id` orders keys of the same millisecond.
          after ? { $or: [{ createdAt: { $lt: after.at } }, { createdAt: after.at, _id: { $lt: after.id } }] } : {},
        ],
      };
      return withRoles(await keys.find(filter).sort({ createdAt: -1, _id: -1 }).limit(limit).toArray());
    },

    /** Revokes a key. @param by who revokes it, as the audit log names actors @returns null if the organisation has no such live key */
    async revoke(organisation: string, id: string, by?: string): Promise<ApiKey | null> {
      const live = { _id: id, organisation, revokedAt: null };
      const document = await keys.findOneAndUpdate(live, revocation(now(), by), { returnDocument: 'after' });
      return document && (await withRoles([document]))[0]!;
    },

    /**
     * Makes someone else the root creator of a live key. One guarded update: of several adoptions and a revocation, one decides.
     * @param from the root creator until then, as the caller saw it @param to a member
     * @returns null if the organisation has no such live key of that person
     */
    async adopt(organisation: string, id: string, from: string, to: string): Promise<ApiKey | null> {
      const filter = { _id: id, organisation, rootCreator: from, ...withStatus('live', now()) };
      // Should `to` be removed meanwhile: a removal that does not find the key yet leaves it the least role.
      const update = { $set: { rootCreator: to, cap: 'viewer' as const } };
      const adopted = await keys.findOneAndUpdate(filter, update, { returnDocument: 'after' });
      return adopted && (await withRoles([adopted]))[0]!;
    },

    /** Returns the live keys that a person created or adopted, or that such keys created, newest first. */
    createdBy: (organisation: string, person: string) => live(organisation, { rootCreator: person }),
    /** Revokes all of them. @returns the revoked keys */
    revokeCreatedBy: (organisation: string, person: string, by?: string) => revokeLive(organisation, { rootCreator: person }, by),
    /** Revokes every live key of an organisation. @returns the revoked keys */
    revokeAll: (organisation: string, by: string) => revokeLive(organisation, {}, by),
  };
}
export type Keys = ReturnType<typeof createKeys>;

/** The stages that add `role` to keys, so that a demotion takes effect with the next request, in the command that finds them. */
const WITH_ROLE: Document[] = [
  { $lookup: { from: MEMBERSHIPS, localField: 'organisation', foreignField: '_id', as: 'members' } },
  {
    $set: {
      role: ROLES.reduceRight<unknown>((other, role) => {
        const emails = { $reduce: { input: `$members.${role}`, initialValue: [], in: { $concatArrays: ['$$value', '$$this'] } } };
        return { $cond: [{ $in: ['$rootCreator', emails] }, role, other] };
      }, null),
    },
  },
  { $unset: 'members' },
];

/** Returns the live keys that match a filter, each with its organisation and a scan of it, in one command. */
async function findHolders(
  keys: Collection<KeyDocument>,
  filter: Filter<KeyDocument>,
  at: Date,
  scan?: string,
): Promise<(KeyHolder & { hash: string })[]> {
  const found = keys.aggregate<HeldKeyDocument>([
    { $match: { ...filter, revokedAt: null } },
    ...WITH_ROLE,
    // The organisation alone knows its plan and whether it is blocked; a copy in the key could be outdated.
    { $lookup: { from: 'organisations', localField: 'organisation', foreignField: '_id', as: 'holders' } },
    ...(scan === undefined
      ? []
      : [{ $set: { scanId: { $literal: scan } } }, { $lookup: { from: 'scans', localField: 'scanId', foreignField: '_id', as: 'scans' } }]),
  ]);
  return (await found.toArray()).flatMap(({ holders: [holder], scanId: _scanId, scans, ...document }) => {
    if (holder === undefined || (document.expiresAt !== null && document.expiresAt <= at)) return [];
    const row = scans && { scan: toVisibleRow(scans[0], document.organisation) };
    return [{ hash: document.hash, key: toKey(document), organisation: toOrganisation(holder), ...row }];
  });
}

const revocation = (at: Date, by: string | undefined) => ({
  $set: { revokedAt: at, ...(by !== undefined && { revokedBy: by }) },
  $unset: { slot: '' as const },
});

function withStatus(status: KeyStatus, now: Date): Filter<KeyDocument> {
  if (status === 'revoked') return { revokedAt: { $ne: null } };
  if (status === 'expired') return { revokedAt: null, expiresAt: { $lte: now } };
  return { revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] };
}

/** Stores a new key in a free slot of its organisation. @returns the stored key, or why it is not stored */
async function insertIntoSlot(
  keys: Collection<KeyDocument>,
  document: KeyDocument,
): Promise<KeyDocument | Extract<IssuedKey, { ok: false }>['reason']> {
  const { organisation, createdAt } = document;
  // Each conflict means that one slot fewer is free.
  for (let attempt = 0; attempt <= LIVE_KEYS_MAX; attempt += 1) {
    const holders = await keys
      .find<SlotHolder>({ organisation, slot: { $exists: true } }, { projection: { slot: 1, expiresAt: 1 } })
      .toArray();
    const choice = chooseSlot(organisation, holders, createdAt);
    if (choice === null) return 'too_many_keys';
    // One update per key, because the driver repeats no update of several documents after a failover.
    const freed = choice.expired.map((_id) => ({ updateOne: { filter: { _id }, update: { $unset: { slot: '' as const } } } }));
    if (freed.length > 0) await keys.bulkWrite(freed, { ordered: false });
    if (await insertNew(keys, { ...document, slot: choice.slot })) return document;
    // The slot was taken, or the ID exists. With the same hash, the answer to an insert that succeeded was lost, and the driver repeated it.
    const existing = await keys.findOne({ _id: document._id });
    if (existing !== null) return existing.hash === document.hash ? existing : 'already_issued';
  }
  return 'too_many_keys';
}
