/**
 * The sites of organisations: for each host and group of comparable options, which scan is the newest. Nobody enters a site. The
 * operator records each scan that has ended, so that a list of sites does not read all scans.
 */
import type { AnyBulkWriteOperation, Db, Filter } from 'mongodb';
import { isTerminal, TERMINAL_PHASES, type TerminalPhase } from '../../core/scan/phases.ts';
import { deleteEach, retryRace } from '../mongo-retry.ts';
import { afterPosition, boundaryOf, containing, EXAMINED_MAX, NEWEST_FIRST, positionOf, upTo, type Position } from './positions.ts';
import { isCheck, type ScanDocument, type ScanRow, toRow } from './scan-row.ts';
import { NO_CHECK, type VerdictFilter } from './scan-search.ts';

/** Scans of test keys, and those that check a page again, belong to no site. */
export interface Site {
  organisation: string;
  /** The host, as `siteOf` returns it. */
  site: string;
  /** Which of its scans are comparable, as `optionsKeyOf` returns it. */
  optionsKey: string;
  /** The ID of the newest scan that has ended, and when it was submitted. */
  scan: string;
  createdAt: Date;
  phase: TerminalPhase;
  passed: boolean | null;
  /** When it ended. */
  finishedAt: Date;
  /** The ID of the newest scan that is done; null if there is none. */
  done: string | null;
}

export interface SiteSearch {
  /** A part of the host, in any case. */
  text?: string;
  /** Of the newest scan. */
  verdict?: VerdictFilter;
  /** Only sites after this one in the list. */
  after?: Position | null;
  limit: number;
}

export const SITE_GROUPS_MAX = 20;

type SiteDocument = Site & {
  _id: string;
  /** When `done` was submitted. */
  doneAt: Date;
};
type SiteFilter = Filter<SiteDocument>;

const NEVER = new Date(0);

const idOf = ({ organisation, site, optionsKey }: Pick<Site, 'organisation' | 'site' | 'optionsKey'>): string =>
  `${organisation}/${site}/${optionsKey}`;

/** @param examinedMax for tests */
export function createSites(db: Db, examinedMax = EXAMINED_MAX) {
  const sites = db.collection<SiteDocument>('sites');
  const scans = db.collection<ScanDocument>('scans');

  /** Writes a site as the stored scans are after the write: of several that erase, record and renew at the same time, the last is right. */
  async function renew(site: SiteDocument): Promise<void> {
    const { _id, organisation, optionsKey } = site;
    const own = { organisation, site: site.site, optionsKey, submission: 'accepted' as const, test: { $exists: false }, ...NO_CHECK };
    const newestOf = (phases: readonly TerminalPhase[]) => scans.findOne({ ...own, phase: { $in: [...phases] } }, { sort: NEWEST_FIRST });
    for (let written = ''; ;) {
      const stored = await Promise.all([newestOf(TERMINAL_PHASES), newestOf(['done'])]);
      const [newest = null, done = null] = stored.map((one) => one && toRow(one));
      const found = `${newest?.id} ${done?.id}`;
      if (found === written) return;
      if (newest === null) await sites.deleteOne({ _id });
      else await retryRace(() => sites.replaceOne({ _id }, { ...site, ...newestIn(newest), ...doneIn(done) }, { upsert: true }));
      written = found;
    }
  }
  async function renewEach(filter: SiteFilter): Promise<void> {
    for (const site of await sites.find(filter).toArray()) await renew(site);
  }

  return {
    /** Records accepted scans that have ended. An older scan than the recorded one, a repetition and a scan that belongs to no site change nothing. */
    async record(rows: readonly ScanRow[]) {
      const writes = rows.flatMap(writesOf);
      if (writes.length > 0) await retryRace(() => sites.bulkWrite(writes, { ordered: true }));
    },

    /** Takes erased scans out of the sites that name them. Call it after `erase`, and after `record` of scans that were erased meanwhile. */
    without: (ids: readonly string[]) => renewEach({ $or: [{ scan: { $in: [...ids] } }, { done: { $in: [...ids] } }] }),

    /**
     * Returns the sites of an organisation that meet every filter, that of the newest scan first. `next` is the place to continue
     * from, null at the end; with filters there may be a `next` although fewer than `limit` sites were found.
     */
    async search(
      organisation: string,
      { text = '', verdict, after = null, limit }: SiteSearch,
    ): Promise<{ sites: Site[]; next: Position | null }> {
      const own: SiteFilter[] = [{ organisation }, ...(after === null ? [] : [afterPosition<SiteDocument>(after)])];
      const host = containing(text);
      const filters: SiteFilter[] = [
        ...(host === null ? [] : [{ site: host }]),
        ...(verdict === undefined
          ? []
          : [verdict === 'none' ? { phase: 'done' as const, passed: null } : { passed: verdict === 'passed' }]),
      ];
      const boundary = filters.length === 0 ? null : await boundaryOf(sites, { $and: own }, examinedMax);
      const all = [...own, ...filters, ...(boundary === null ? [] : [upTo<SiteDocument>(boundary)])];
      const cursor = sites.find({ $and: all }).sort(NEWEST_FIRST);
      const found = await cursor.limit(limit + 1).toArray();
      const listed = found.slice(0, limit);
      return { sites: listed.map(toSite), next: found.length > limit ? positionOf(listed.at(-1)!) : boundary };
    },

    /** Returns one group of comparable options of a host, or null. */
    async find(organisation: string, site: string, optionsKey: string): Promise<Site | null> {
      const found = await sites.findOne({ _id: idOf({ organisation, site, optionsKey }), organisation });
      return found && toSite(found);
    },

    /** Returns the groups of comparable options of one host, that of the newest scan first, at most `SITE_GROUPS_MAX`. */
    async of(organisation: string, site: string): Promise<Site[]> {
      const found = sites.find({ organisation, site }).sort(NEWEST_FIRST).limit(SITE_GROUPS_MAX);
      return (await found.toArray()).map(toSite);
    },

    /** Deletes a site whose scans are erased, with every group of its options, except those that have a scan again. */
    remove: (organisation: string, site: string) => renewEach({ organisation, site }),

    /** Deletes sites whose newest scan ended before `before`. */
    forget: (before: Date) => deleteEach(sites, { finishedAt: { $lt: before } }),
  };
}

/** The first write creates the document. Each of the others changes it unless it has a newer scan, so that they may come in any order. */
function writesOf(row: ScanRow): AnyBulkWriteOperation<SiteDocument>[] {
  const { organisation, site, optionsKey, phase, createdAt } = row;
  // An abandoned scan never existed for callers, although its resource may have ended.
  if (row.submission !== 'accepted' || !isTerminal(phase) || row.test || isCheck(row) || site === '') return [];
  const _id = idOf(row);
  const newest = newestIn(row);
  const done = doneIn(phase === 'done' ? row : null);
  const update = (filter: SiteFilter, $set: Partial<SiteDocument>) => ({ updateOne: { filter: { _id, ...filter }, update: { $set } } });
  return [
    { updateOne: { filter: { _id }, update: { $setOnInsert: { organisation, site, optionsKey, ...newest, ...done } }, upsert: true } },
    update({ createdAt: { $lte: createdAt } }, newest),
    ...(phase === 'done' ? [update({ doneAt: { $lte: createdAt } }, done)] : []),
  ];
}

function newestIn({ id: scan, createdAt, phase, passed, finishedAt, updatedAt }: ScanRow) {
  return { scan, createdAt, phase: phase as TerminalPhase, passed, finishedAt: finishedAt ?? updatedAt };
}
const doneIn = (row: ScanRow | null) => (row === null ? { done: null, doneAt: NEVER } : { done: row.id, doneAt: row.createdAt });

function toSite({ _id, doneAt: _doneAt, ...site }: SiteDocument): Site {
  return site;
}
