/** The read model of scans: one row per scan, mirrored from the custom resource. GET requests read only these rows. */
import type { Collection, Db, Filter } from 'mongodb';
import { ANONYMOUS } from '../../core/organisation.ts';
import { isTerminal, LIVE_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import {
  changedFields,
  type NewRow,
  type ScanChange,
  type ScanDocument,
  type ScanRow,
  toDocument,
  toRow,
  toVisibleRow,
} from './scan-row.ts';
import { insertNew, retryRace } from '../mongo-retry.ts';
import {
  checksOf,
  newestDoneWith,
  previousDoneOf,
  searchScans,
  trendOf,
  type Alike,
  type NewestDone,
  type ScanSearch,
} from './scan-search.ts';

export type { ScanChange, ScanRow } from './scan-row.ts';

/** The result of `accept`. `won`: this call decided; otherwise the scan was accepted before. */
export type Acceptance =
  | { ok: true; row: ScanRow; won: boolean }
  /** `unknown`: there is no such row. */
  | { ok: false; reason: 'abandoned' | 'unknown' };

/** The result of `abandon`. `won`: this call decided; otherwise the scan was abandoned before. */
export type Abandonment =
  { ok: true; row: ScanRow; won: boolean } | { ok: false; reason: 'accepted'; row: ScanRow } | { ok: false; reason: 'unknown' };

/** A row was removed while it was created again. */
export class RowRemoved extends Error {
  constructor(id: string) {
    super(`the row of scan ${id} was removed by another process`);
    this.name = 'RowRemoved';
  }
}

/** How often a change is tried while other processes change the same row. There are at most two or three. */
const MAX_CONFLICTS = 50;

/** The read model in MongoDB. */
export function createScans(db: Db) {
  const scans = db.collection<ScanDocument>('scans');

  return {
    ...submissionsOf(scans),

    ...retentionOf(scans),

    /**
     * Returns the row, or null if it does not exist.
     * @param organisation returns null also for the row of another organisation, and for an abandoned scan, which never existed for callers
     */
    async find(id: string, organisation?: string): Promise<ScanRow | null> {
      const document = await scans.findOne({ _id: id });
      return organisation === undefined ? document && toRow(document) : toVisibleRow(document, organisation);
    },

    /** Returns the rows that exist, in any order. */
    async findMany(ids: readonly string[]): Promise<ScanRow[]> {
      return (await scans.find({ _id: { $in: [...ids] } }).toArray()).map(toRow);
    },

    /** Returns accepted scans of an organisation that meet every filter, newest first. */
    search: (organisation: string, search: ScanSearch) => searchScans(scans, organisation, search),

    /**
     * Returns the last `limit` scans that are done and can be compared with a scan as those of `previousDone`, newest first, among the last
     * 200 of its URL. The scan itself is among them if it is one of the last.
     */
    trend: (row: Alike, limit: number) => trendOf(scans, row, limit),

    /**
     * Returns the last scan of the same organisation and URL that is done and was created before a scan. It has the same sign-in
     * and options, except thresholds and language. Null if there is none among the last 20. Scans of test keys are compared with
     * each other only.
     */
    previousDone: (row: ScanRow) => previousDoneOf(scans, row),

    /**
     * Returns the newest scan that is done and was submitted before a time. It is of a site with every given pair of metadata, or
     * of a ScanSchedule. Null if there is none.
     */
    newestDoneWith: (organisation: string, search: NewestDone) => newestDoneWith(scans, organisation, search),

    /** Returns the newest done scans that check pages of a scan again, newest first. */
    checksOf: (organisation: string, scanId: string) => checksOf(scans, organisation, scanId),

    /** Records that a live scan was canceled, so that pages show it until the operator ends it. */
    async markCanceling(id: string) {
      const live: Filter<ScanDocument> = { _id: id, phase: { $in: LIVE_PHASES }, canceling: { $exists: false } };
      // Without `updatedAt`, the clock of the sweeper: of a scan without a resource, each request would delay the end.
      const change = { $set: { canceling: true as const }, $inc: { version: 1 } };
      await retryRace(() => scans.updateOne(live, change));
    },

    /**
     * Applies a change in one guarded operation. A row in a terminal phase never changes, a phase never moves backwards
     * (core/scan/phases.ts), and page counts decrease only at the end. A change without effect does not raise the version.
     * @param known the row as the caller has just read it, which saves a read; it may be outdated
     * @returns the current row, and whether this call changed it; null if there is no such row
     */
    mirror: (id: string, change: ScanChange, known?: ScanRow) => mirrorChange(scans, id, change, known),

    /** Returns at most `limit` live, accepted rows that last changed before `before`, to be compared with existing resources. */
    async stale(before: Date, limit: number): Promise<ScanRow[]> {
      const rows = scans.find({ submission: 'accepted', phase: { $in: LIVE_PHASES }, updatedAt: { $lt: before } }).sort({ updatedAt: 1 });
      return (await rows.limit(limit).toArray()).map(toRow);
    },

    /**
     * Returns at most `limit` accepted rows whose end is not announced: `mirror` marks each row in the step that ends it. Not public scans.
     * @param of.ids only of these scans. Default: of any
     * @param of.except not of these organisations
     */
    async unannounced(
      limit: number,
      { ids, except = [] }: { ids?: readonly string[]; except?: readonly string[] } = {},
    ): Promise<ScanRow[]> {
      const others = except.length > 0 && { organisation: { $nin: [...except] } };
      return (
        await scans
          .find({ unannounced: true, submission: 'accepted', ...others, ...(ids && { _id: { $in: [...ids] } }) })
          .limit(limit)
          .toArray()
      ).map(toRow);
    },

    /** Records that the ends of these scans are announced. */
    announced: (ids: readonly string[]) => unmark(scans, ids, 'unannounced'),

    /** Returns at most `limit` accepted rows that have ended and are not in the list of sites: `mirror` marks each row in the step that ends it. */
    async unlisted(limit: number): Promise<ScanRow[]> {
      return (await scans.find({ unlisted: true, submission: 'accepted' }).limit(limit).toArray()).map(toRow);
    },

    /** Records that these scans are in the list of sites. */
    listed: (ids: readonly string[]) => unmark(scans, ids, 'unlisted'),

    /** Counts the live scans of organisations that hold credits, up to `limit`. Public scans have a limit of their own. */
    countLive: (limit: number) =>
      scans.countDocuments(
        { phase: { $in: LIVE_PHASES }, submission: 'accepted', pagesReserved: { $gt: 0 }, organisation: { $ne: ANONYMOUS } },
        { limit },
      ),
  };
}
export type Scans = ReturnType<typeof createScans>;

async function unmark(scans: Collection<ScanDocument>, ids: readonly string[], mark: 'unannounced' | 'unlisted'): Promise<void> {
  const each = ids.map((_id) => ({ updateOne: { filter: { _id }, update: { $unset: { [mark]: true as const } } } }));
  if (each.length > 0) await scans.bulkWrite(each, { ordered: false });
}

/** What happens to the rows of submissions until they are decided. */
function submissionsOf(scans: Collection<ScanDocument>) {
  /** Moves a row out of `pending`. @returns the row after it, and whether this call moved it */
  async function decide(
    id: string,
    decision: Partial<Pick<ScanRow, 'submission' | 'pagesReserved'>>,
  ): Promise<{ row: ScanRow | null; won: boolean }> {
    const decided = await scans.findOneAndUpdate(
      { _id: id, submission: 'pending' },
      { $set: decision, $currentDate: { updatedAt: true } },
      { returnDocument: 'after' },
    );
    if (decided !== null) return { row: toRow(decided), won: true };
    const stored = await scans.findOne({ _id: id });
    return { row: stored && toRow(stored), won: false };
  }

  return {
    /** Stores a new row (version 1) with its site. Storing the same id again changes nothing and returns the stored row. @throws RowRemoved */
    async create(row: NewRow): Promise<ScanRow> {
      const document = toDocument(row);
      if (await insertNew(scans, document)) return toRow(document);
      const stored = await scans.findOne({ _id: row.id });
      // It was discarded between the insert and this read.
      if (stored === null) throw new RowRemoved(row.id);
      return toRow(stored);
    },

    /**
     * Decides that a pending scan runs, and stores its reserved pages. With `abandon`, this is the only way out of `pending`:
     * both are compare-and-set, so that of several processes exactly one decides.
     */
    async accept(id: string, { pagesReserved }: Pick<ScanRow, 'pagesReserved'>): Promise<Acceptance> {
      const { row, won } = await decide(id, { submission: 'accepted', pagesReserved });
      if (row === null) return { ok: false, reason: 'unknown' };
      return row.submission === 'accepted' ? { ok: true, row, won } : { ok: false, reason: 'abandoned' };
    },

    /** Decides that a pending scan never runs. Only after this may its credits be returned without a result. */
    async abandon(id: string): Promise<Abandonment> {
      const { row, won } = await decide(id, { submission: 'abandoned' });
      if (row === null) return { ok: false, reason: 'unknown' };
      return row.submission === 'abandoned' ? { ok: true, row, won } : { ok: false, reason: 'accepted', row };
    },

    /** Deletes a pending row that has no credits and no custom resource, and never will. Keeps any other row. */
    async discard(id: string) {
      await scans.deleteOne({ _id: id, submission: 'pending' });
    },

    /** Returns at most `limit` rows that were created before `before` and are still `pending`, because their submission crashed. */
    async pending(before: Date, limit: number): Promise<ScanRow[]> {
      const rows = scans.find({ submission: 'pending', createdAt: { $lt: before } }).sort({ createdAt: 1 });
      return (await rows.limit(limit).toArray()).map(toRow);
    },

    /** Deletes abandoned rows that were created before `before`. @returns their number */
    async removeAbandoned(before: Date): Promise<number> {
      const { deletedCount } = await scans.deleteMany({ submission: 'abandoned', createdAt: { $lt: before } });
      return deletedCount;
    },
  };
}

/** The organisation of erased scans. It is no valid ID, so no caller has it. */
export const ERASED = '~erased';

/** A row whose reports are to be removed. */
export interface Removable {
  row: ScanRow;
  /** They were removed before. */
  again: boolean;
  /** Its row is deleted too. */
  erased: boolean;
}

const ERASED_FIELDS = ['metadata', 'baseline', 'auth', 'submittedBy', 'schedule', 'unannounced', 'unlisted', 'reportsRemoved'] as const;

/** Keeps what a repeated submission is answered with, and what ends a scan that is live. */
async function eraseThose(scans: Collection<ScanDocument>, filter: Filter<ScanDocument>): Promise<number> {
  const empty = { outcome: null, message: null, site: '', 'options.url': '' };
  const absent = Object.fromEntries([...ERASED_FIELDS, 'options.crawl'].map((name) => [name, '' as const]));
  // With a new version: what was about to be mirrored to the row is of its organisation.
  const update = { $set: { ...empty, organisation: ERASED, removeAt: new Date(0) }, $unset: absent, $inc: { version: 1 } };
  return (await scans.updateMany(filter, update)).modifiedCount;
}

/** What happens to the reports and rows of ended scans. */
function retentionOf(scans: Collection<ScanDocument>) {
  return {
    /**
     * Returns at most `limit` terminal rows whose reports are to be removed: those that finished before `before`, those of erased scans,
     * and those to be removed again. First those that were never tried, then by the oldest attempt, so that none hides others.
     * @param now a row that was tried later is not returned
     */
    async removable({ before, now, limit }: { before: Date; now: Date; limit: number }): Promise<Removable[]> {
      const first = { removeAt: { $exists: false }, reportsRemoved: { $ne: true as const }, finishedAt: { $lt: before } };
      const due: Filter<ScanDocument> = { phase: { $in: TERMINAL_PHASES }, $or: [first, { removeAt: { $lt: now } }] };
      const found = await scans.find(due).sort({ removeAt: 1, finishedAt: 1 }).limit(limit).toArray();
      return found.map((one) => ({ row: toRow(one), again: one.reportsRemoved === true, erased: one.organisation === ERASED }));
    },

    /** Records that an attempt to remove reports failed. */
    async notRemoved(id: string, at: Date) {
      await scans.updateOne({ _id: id }, { $set: { removeAt: at } });
    },

    /**
     * Takes every scan from a purged organisation. Nobody finds them any more; the sweeper deletes their reports, then their rows.
     * @returns their number
     */
    eraseAll: (organisation: string) => eraseThose(scans, { organisation }),

    /** Takes an ended scan from its organisation, as `eraseAll`. @returns false if the organisation has no such scan */
    erase: async (organisation: string, id: string): Promise<boolean> =>
      (await eraseThose(scans, { _id: id, organisation, submission: 'accepted', phase: { $in: TERMINAL_PHASES } })) === 1,

    /** Takes the `limit` oldest ended scans of a site from their organisation, as `eraseAll`. @returns how many it found */
    async eraseSite(organisation: string, site: string, limit: number): Promise<number> {
      const ended: Filter<ScanDocument> = { organisation, site, submission: 'accepted', phase: { $in: TERMINAL_PHASES } };
      const found = await scans
        .find(ended, { projection: { _id: 1 } })
        .sort({ createdAt: 1, _id: 1 })
        .limit(limit)
        .toArray();
      if (found.length > 0) await eraseThose(scans, { ...ended, _id: { $in: found.map(({ _id }) => _id) } });
      return found.length;
    },

    /** Deletes the row of an erased scan, whose reports are deleted. */
    async remove(id: string) {
      await scans.deleteOne({ _id: id, organisation: ERASED });
    },

    /** Records that the reports of a terminal row were removed. The row stays, with its verdict. @param again when to remove them once more */
    async reportsRemoved(id: string, again?: Date) {
      const last = again === undefined ? { $unset: { removeAt: '' as const } } : {};
      const change = { $set: { reports: null, reportsRemoved: true as const, ...(again && { removeAt: again }) }, $inc: { version: 1 } };
      await scans.updateOne({ _id: id, phase: { $in: TERMINAL_PHASES } }, { ...change, ...last });
    },

    /** Deletes rows that finished before `before` and whose reports were removed. @returns their number */
    async forget(before: Date): Promise<number> {
      const { deletedCount } = await scans.deleteMany({ reportsRemoved: true, removeAt: { $exists: false }, finishedAt: { $lt: before } });
      return deletedCount;
    },
  };
}

async function mirrorChange(
  scans: Collection<ScanDocument>,
  id: string,
  change: ScanChange,
  known?: ScanRow,
): Promise<{ row: ScanRow; changed: boolean } | null> {
  let row = known;
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    if (row === undefined) {
      const document = await scans.findOne({ _id: id });
      if (document === null) return null;
      row = toRow(document);
    }
    const fields = changedFields(row, change);
    if (fields === null) return { row, changed: false };
    const ends = fields.phase !== undefined && isTerminal(fields.phase) && ![ANONYMOUS, ERASED].includes(row.organisation);
    // Every change raises the version, so this filter detects that another process changed the row after the read.
    const after = await scans.findOneAndUpdate(
      { _id: id, version: row.version },
      {
        $set: { ...fields, version: row.version + 1, ...(ends && { unannounced: true as const, unlisted: true as const }) },
        $currentDate: { updatedAt: true },
      },
      { returnDocument: 'after' },
    );
    if (after !== null) return { row: toRow(after), changed: true };
    row = undefined;
  }
  throw new Error(`scan ${id} still conflicts with other writers after ${MAX_CONFLICTS} attempts`);
}

/** A command has a maximum size. */
const ROWS_PER_QUERY = 1_000;

/** Returns the rows of scans that have one, by ID. */
export async function rowsOf(scans: Pick<Scans, 'findMany'>, ids: readonly string[]): Promise<Map<string, ScanRow>> {
  const rows = new Map<string, ScanRow>();
  for (let at = 0; at < ids.length; at += ROWS_PER_QUERY)
    for (const row of await scans.findMany(ids.slice(at, at + ROWS_PER_QUERY))) rows.set(row.id, row);
  return rows;
}
