/** The read model of scans: one row a scan, mirrored from the custom resource; all that a GET ever reads. */
import type { Db } from 'mongodb';
import { LIVE_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import { changedFields, type ScanChange, type ScanRow } from './scan-row.ts';
import { isDuplicate } from '../mongo-retry.ts';

export type { ScanChange, ScanRow } from './scan-row.ts';

export interface Scans {
  /** Stores a new row (version 1). Storing the same id again changes nothing and returns the stored row. */
  create(row: Omit<ScanRow, 'version' | 'updatedAt'>): Promise<ScanRow>;
  /** The scan's custom resource exists. Idempotent. @throws ScanGivenUp where the row was discarded meanwhile */
  accept(id: string): Promise<void>;
  /** Takes back a `pending` row whose submission did not succeed; an accepted row stays. True if it is gone. */
  discard(id: string): Promise<boolean>;
  /** The row, or null; with `organisation`, null also where it is another's. */
  find(id: string, organisation?: string): Promise<ScanRow | null>;
  /**
   * Applies a change in one guarded operation: a row in a terminal phase never changes, a phase never moves backwards
   * (core/scan/phases.ts), page counts never fall. A change that changes nothing does not raise the version.
   * @returns the row as it is now, and whether this call changed it; null if there is no such row
   */
  mirror(id: string, change: ScanChange): Promise<{ row: ScanRow; changed: boolean } | null>;
  /** Rows still `pending` that were made before `before`, at most `limit`: what a crash between row and resource left. */
  abandoned(before: Date, limit: number): Promise<ScanRow[]>;
  /** Accepted rows not terminal, last changed before `before`, at most `limit`: to be compared with the resources that exist. */
  stale(before: Date, limit: number): Promise<ScanRow[]>;
  /** Terminal rows whose reports have outlived `before`, at most `limit`. */
  expired(before: Date, limit: number): Promise<ScanRow[]>;
  /** Forgets a terminal row and all that hangs on it in this store. */
  forget(id: string): Promise<void>;
}

/** A submission was so slow that its row was swept: whoever still works on it must stop. */
export class ScanGivenUp extends Error {
  constructor(id: string) {
    super(`scan ${id} was given up: its submission took too long`);
    this.name = 'ScanGivenUp';
  }
}

/** A row as it is stored: its id is the document's. */
type ScanDocument = Omit<ScanRow, 'id'> & { _id: string };

/** How often a change is tried again against other writers of the same row; there are two or three at most. */
const MAX_CONFLICTS = 50;

function toRow({ _id, ...rest }: ScanDocument): ScanRow {
  return { id: _id, ...rest };
}

/** The read model in a MongoDB collection. */
export function createScans(db: Db): Scans {
  const scans = db.collection<ScanDocument>('scans');

  return {
    async create({ id, ...row }) {
      const document: ScanDocument = { _id: id, ...row, version: 1, updatedAt: row.createdAt };
      try {
        await scans.insertOne(document);
        return toRow(document);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        const stored = await scans.findOne({ _id: id });
        // Discarded between our insert and our look: whoever discarded it gave this scan up.
        if (stored === null) throw new ScanGivenUp(id);
        return toRow(stored);
      }
    },

    async accept(id) {
      const { matchedCount } = await scans.updateOne({ _id: id }, { $set: { submission: 'accepted' } });
      if (matchedCount === 0) throw new ScanGivenUp(id);
    },

    async discard(id) {
      const { deletedCount } = await scans.deleteOne({ _id: id, submission: 'pending' });
      return deletedCount === 1 || (await scans.findOne({ _id: id }, { projection: { _id: 1 } })) === null;
    },

    async find(id, organisation) {
      const document = await scans.findOne(organisation === undefined ? { _id: id } : { _id: id, organisation });
      return document && toRow(document);
    },

    async mirror(id, change) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const document = await scans.findOne({ _id: id });
        if (document === null) return null;
        const row = toRow(document);
        const fields = changedFields(row, change);
        if (fields === null) return { row, changed: false };
        // The version is the guard: it grows with every change, so that a row that moved meanwhile is read again.
        const after = await scans.findOneAndUpdate(
          { _id: id, version: row.version },
          { $set: { ...fields, version: row.version + 1 }, $currentDate: { updatedAt: true } },
          { returnDocument: 'after' },
        );
        if (after !== null) return { row: toRow(after), changed: true };
      }
      throw new Error(`scan ${id} changes faster than it can be mirrored`);
    },

    async abandoned(before, limit) {
      const rows = scans.find({ submission: 'pending', createdAt: { $lt: before } }).sort({ createdAt: 1 });
      return (await rows.limit(limit).toArray()).map(toRow);
    },

    async stale(before, limit) {
      const rows = scans.find({ submission: 'accepted', phase: { $in: LIVE_PHASES }, updatedAt: { $lt: before } }).sort({ updatedAt: 1 });
      return (await rows.limit(limit).toArray()).map(toRow);
    },

    async expired(before, limit) {
      const rows = scans.find({ phase: { $in: TERMINAL_PHASES }, finishedAt: { $lt: before } }).sort({ finishedAt: 1 });
      return (await rows.limit(limit).toArray()).map(toRow);
    },

    async forget(id) {
      await scans.deleteOne({ _id: id, phase: { $in: TERMINAL_PHASES } });
    },
  };
}
