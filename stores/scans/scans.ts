/** The read model of scans: one row per scan, mirrored from the custom resource. GET requests read only these rows. */
import type { Collection, Db } from 'mongodb';
import { LIVE_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import { changedFields, type ScanChange, type ScanRow } from './scan-row.ts';
import { isDuplicate } from '../mongo-retry.ts';

export type { ScanChange, ScanRow } from './scan-row.ts';

export interface Scans {
  /** Stores a new row (version 1). Storing the same id again changes nothing and returns the stored row. */
  create(row: Omit<ScanRow, 'version' | 'updatedAt'>): Promise<ScanRow>;
  /** Records that the scan's custom resource exists. Idempotent. @throws ScanGivenUp if the row was discarded in the meantime */
  accept(id: string): Promise<void>;
  /** Deletes a `pending` row whose submission failed; keeps an accepted row. @returns true if the row no longer exists */
  discard(id: string): Promise<boolean>;
  /** Returns the row, or null if it does not exist or belongs to an organisation other than `organisation`. */
  find(id: string, organisation?: string): Promise<ScanRow | null>;
  /**
   * Applies a change in one guarded operation. A row in a terminal phase never changes, a phase never moves backwards
   * (core/scan/phases.ts), and page counts never decrease. A change without effect does not raise the version.
   * @returns the current row, and whether this call changed it; null if there is no such row
   */
  mirror(id: string, change: ScanChange): Promise<{ row: ScanRow; changed: boolean } | null>;
  /** Returns at most `limit` rows that were created before `before` and are still `pending`, because their submission crashed. */
  abandoned(before: Date, limit: number): Promise<ScanRow[]>;
  /** Returns at most `limit` live, accepted rows that last changed before `before`, to be compared with existing resources. */
  stale(before: Date, limit: number): Promise<ScanRow[]>;
  /** Returns at most `limit` terminal rows that finished before `before`. */
  expired(before: Date, limit: number): Promise<ScanRow[]>;
  /** Deletes a terminal row. Keeps a live one. */
  forget(id: string): Promise<void>;
}

/** A submission was so slow that the sweeper discarded its row. The submission must stop. */
export class ScanGivenUp extends Error {
  constructor(id: string) {
    super(`scan ${id} was discarded because its submission took too long`);
    this.name = 'ScanGivenUp';
  }
}

/** A row as it is stored, with its id as the document's id. */
type ScanDocument = Omit<ScanRow, 'id'> & { _id: string };

/** How often a change is tried while other processes change the same row. There are at most two or three. */
const MAX_CONFLICTS = 50;

function toRow({ _id, ...rest }: ScanDocument): ScanRow {
  return { id: _id, ...rest };
}

/** The read model in MongoDB. */
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
        // The sweeper discarded the row between the insert and this read.
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

    mirror: (id, change) => mirrorChange(scans, id, change),

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

async function mirrorChange(scans: Collection<ScanDocument>, id: string, change: ScanChange): ReturnType<Scans['mirror']> {
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const document = await scans.findOne({ _id: id });
    if (document === null) return null;
    const row = toRow(document);
    const fields = changedFields(row, change);
    if (fields === null) return { row, changed: false };
    // Every change raises the version, so this filter detects that another process changed the row after the read.
    const after = await scans.findOneAndUpdate(
      { _id: id, version: row.version },
      { $set: { ...fields, version: row.version + 1 }, $currentDate: { updatedAt: true } },
      { returnDocument: 'after' },
    );
    if (after !== null) return { row: toRow(after), changed: true };
  }
  throw new Error(`scan ${id} still conflicts with other writers after ${MAX_CONFLICTS} attempts`);
}
