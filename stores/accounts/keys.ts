/** API keys. The secret is returned only when a key is issued; the store keeps its SHA-256. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { ANONYMOUS } from '../../core/organisation.ts';
import { hashOf, isWellFormed, makeKey } from './key-format.ts';

export interface ApiKey {
  id: string;
  organisation: string;
  name: string;
  last4: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

export interface Keys {
  /** Issues a key. @returns the stored key and its secret, which cannot be retrieved later */
  issue(request: { organisation: string; name: string; expiresAt: Date | null }): Promise<{ key: ApiKey; secret: string }>;
  /** Returns the live key of a secret, or null if it is malformed (checked without a query), unknown, expired or revoked. */
  recognise(secret: string): Promise<ApiKey | null>;
  /** Returns the keys of an organisation that are not revoked, newest first. */
  list(organisation: string): Promise<ApiKey[]>;
  /** Revokes a key. @returns false if the organisation has no such live key */
  revoke(organisation: string, id: string): Promise<boolean>;
  /** Records that a key was used, with at most one write per key and minute. Never throws. */
  touch(id: string): void;
}

type KeyDocument = Omit<ApiKey, 'id'> & { _id: string; hash: string };

/** The minimum interval between two writes of `lastUsedAt`. */
const TOUCH_EVERY_MS = 60_000;

function toKey({ _id, hash: _hash, ...rest }: KeyDocument): ApiKey {
  return { id: _id, ...rest };
}

/** API keys in MongoDB. Nothing is cached, so every replica rejects a revoked key immediately. */
export function createKeys(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Keys {
  const keys = db.collection<KeyDocument>('keys');
  /** When this process last recorded the use of each key. */
  const touched = new Map<string, number>();

  return {
    async issue({ organisation, name, expiresAt }) {
      if (organisation === ANONYMOUS) throw new RangeError('the organisation of public scans cannot hold keys');
      const secret = makeKey(randomBytes);
      const document: KeyDocument = {
        _id: randomUUID(),
        organisation,
        name,
        last4: secret.slice(-4),
        hash: hashOf(secret),
        createdAt: now(),
        expiresAt,
        revokedAt: null,
        lastUsedAt: null,
      };
      await keys.insertOne(document);
      return { key: toKey(document), secret };
    },

    async recognise(secret) {
      if (!isWellFormed(secret)) return null;
      const document = await keys.findOne({ hash: hashOf(secret), revokedAt: null });
      if (document === null || (document.expiresAt !== null && document.expiresAt <= now())) return null;
      return toKey(document);
    },

    async list(organisation) {
      const newest = keys.find({ organisation, revokedAt: null }).sort({ createdAt: -1 });
      return (await newest.toArray()).map(toKey);
    },

    async revoke(organisation, id) {
      const { matchedCount } = await keys.updateOne({ _id: id, organisation, revokedAt: null }, { $set: { revokedAt: now() } });
      return matchedCount === 1;
    },

    touch(id) {
      const at = now();
      const last = touched.get(id);
      if (last !== undefined && at.getTime() - last < TOUCH_EVERY_MS) return;
      // Deleted and inserted again, so that the map is ordered by use and outdated entries come first.
      touched.delete(id);
      touched.set(id, at.getTime());
      for (const [key, time] of touched) {
        if (at.getTime() - time < TOUCH_EVERY_MS) break;
        touched.delete(key);
      }
      // Other replicas have their own maps. The filter limits the writes of all replicas together.
      const due = { $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: new Date(at.getTime() - TOUCH_EVERY_MS) } }] };
      keys.updateOne({ _id: id, ...due }, { $set: { lastUsedAt: at } }).catch(() => touched.delete(id));
    },
  };
}
