/** The audit log: every change to an organisation, its users and its keys. */
import type { Db } from 'mongodb';

export interface AuditEntry {
  organisation: string;
  /** `curbcut-admin`, an e-mail address, or `key:<id>`. */
  actor: string;
  /** `organisation.add`, `key.issue`, … */
  action: string;
  subject: string | null;
  at: Date;
}

export interface AuditLog {
  record(entry: Omit<AuditEntry, 'at'>): Promise<void>;
  /** Returns the newest entries of an organisation, newest first. */
  audit(organisation: string, limit: number): Promise<AuditEntry[]>;
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
  };
}
