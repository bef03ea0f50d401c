/** The audit log: every change to an organisation, its users and its keys. */
import { ObjectId, type Db, type Filter } from 'mongodb';

export interface AuditEntry {
  organisation: string;
  /** `curbcut-admin`, an e-mail address, or `key:<id>`. */
  actor: string;
  /** `organisation.add`, `key.issue`, … */
  action: string;
  subject: string | null;
  at: Date;
}

/** A part of the audit log, newest first. */
export interface AuditPage {
  /** Only entries of this action. */
  action?: string;
  /** Only entries after this one in the list. */
  after?: { at: Date; id: string } | null;
  limit: number;
}

export interface AuditLog {
  record(entry: Omit<AuditEntry, 'at'>): Promise<void>;
  /** Returns the newest entries of an organisation, newest first. */
  audit(organisation: string, limit: number): Promise<AuditEntry[]>;
  /** Returns entries of an organisation with their ids, newest first. */
  auditPage(organisation: string, page: AuditPage): Promise<(AuditEntry & { id: string })[]>;
}

/** The audit log in MongoDB. */
export function createAuditLog(db: Db, now: () => Date): AuditLog {
  const entries = db.collection<AuditEntry>('audit');
  return {
    async record(entry) {
      await entries.insertOne({ ...entry, at: now() });
    },

    async audit(organisation, limit) {
      const newest = entries.find({ organisation }, { projection: { _id: 0 } }).sort({ at: -1, _id: -1 });
      return newest.limit(limit).toArray();
    },

    async auditPage(organisation, { action, after, limit }) {
      const filter: Filter<AuditEntry> = {
        $and: [{ organisation }, action === undefined ? {} : { action }, after ? afterEntry(after) : {}],
      };
      const found = await entries.find(filter).sort({ at: -1, _id: -1 }).limit(limit).toArray();
      return found.map(({ _id, ...entry }) => ({ ...entry, id: _id.toHexString() }));
    },
  };
}

function afterEntry({ at, id }: { at: Date; id: string }): Filter<AuditEntry> {
  // An id of another form is of no entry.
  const sameMoment = ObjectId.isValid(id) ? [{ at, _id: { $lt: new ObjectId(id) } }] : [];
  return { $or: [{ at: { $lt: at } }, ...sameMoment] };
}
