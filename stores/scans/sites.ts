/**
 * The sites of organisations: for each host and group of comparable options, which scan is the newest. Nobody enters a site. The
 * operator records each scan that has ended, so that a list of sites does not read all scans.
 */
import type { AnyBulkWriteOperation, Db, Filter } from 'mongodb';
import { isTerminal, TERMINAL_PHASES, type TerminalPhase } from '../../core/scan/phases.ts';
import { deleteEach, retryRace } from '../mongo-retry.ts';
import { afterPosition, boundaryOf, containing, EXAMINED_MAX, NEWEST_FIRST, positionOf, upTo, type Position } from './positions.ts';
import { isCheck, type ScanDocument, type ScanRow, toRow } from './scan-row.ts';
import { NO_CHECK } from './scan-search.ts';

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
  /** The newest scans that are done, oldest first, at most `HISTORY_MAX`. Those that an older version recorded are missing. */
  history: SitePoint[];
}

/** A scan that is done, as the line of a site shows it. */
export interface SitePoint {
  scan: string;
  at: Date;
  url: string;
  score: number;
  violations: number;
}

/** What the people of an organisation decided about a host. */
export interface SiteLabel {
  site: string;
  /** What they call it. Null: they gave it no name. */
  name: string | null;
  /** Whether the list of sites leaves it out. */
  hidden: boolean;
}

/** A host with its groups of comparable options, that of the newest scan first. */
export type HostGroups = SiteLabel & { groups: Site[] };
/** One of a list, with its position there. */
export type ListedHost = HostGroups & { position: Position };

export interface SiteSearch {
  /** A part of the host or of its name, in any case. */
  text?: string;
  /** Only sites that are hidden. Default: only those that are not. */
  hidden?: boolean;
  /** Only sites after this one in the list. */
  after?: Position | null;
  limit: number;
}

export const SITE_GROUPS_MAX = 20;
/** Groups that a search reads at once for each site that it may return. */
const GROUPS_READ = 8;
export const HISTORY_MAX = 12;
/** Sites of an organisation that have a name or are hidden. */
export const LABELS_MAX = 1_000;

type SiteDocument = Omit<Site, 'history'> & {
  _id: string;
  /** When `done` was submitted. */
  doneAt: Date;
  history?: SitePoint[];
};
type LabelDocument = SiteLabel & { _id: string; organisation: string };
type SiteFilter = Filter<SiteDocument>;

const NEVER = new Date(0);

const idOf = ({ organisation, site, optionsKey }: Pick<Site, 'organisation' | 'site' | 'optionsKey'>): string =>
  `${organisation}/${site}/${optionsKey}`;

/** @param examinedMax for tests */
export function createSites(db: Db, examinedMax = EXAMINED_MAX) {
  const sites = db.collection<SiteDocument>('sites');
  const scans = db.collection<ScanDocument>('scans');
  const labels = db.collection<LabelDocument>('siteLabels');

  /** Writes a site as the stored scans are after the write: of several that erase, record and renew at the same time, the last is right. */
  async function renew(site: SiteDocument): Promise<void> {
    const { _id, organisation, optionsKey } = site;
    const own = { organisation, site: site.site, optionsKey, submission: 'accepted' as const, test: { $exists: false }, ...NO_CHECK };
    const newestOf = async (phases: readonly TerminalPhase[], limit: number): Promise<ScanRow[]> => {
      const found = scans.find({ ...own, phase: { $in: [...phases] } }).sort(NEWEST_FIRST);
      return (await found.limit(limit).toArray()).map(toRow);
    };
    for (let written: string | null = null; ;) {
      const [[newest], results] = await Promise.all([newestOf(TERMINAL_PHASES, 1), newestOf(['done'], HISTORY_MAX)]);
      const found = [newest, ...results].map((one) => one?.id).join();
      if (found === written) return;
      const history = results.flatMap(pointOf).reverse();
      if (newest === undefined) await sites.deleteOne({ _id });
      else
        await retryRace(() =>
          sites.replaceOne({ _id }, { ...site, ...newestIn(newest), ...doneIn(results[0] ?? null), history }, { upsert: true }),
        );
      written = found;
    }
  }
  const groupsOf = (organisation: string, hosts: readonly string[], limit: number): Promise<SiteDocument[]> =>
    sites
      .find({ organisation, site: { $in: [...hosts] } })
      .sort(NEWEST_FIRST)
      .limit(limit)
      .toArray();

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
    without: (ids: readonly string[]) =>
      renewEach({ $or: ['scan', 'done', 'history.scan'].map((field) => ({ [field]: { $in: [...ids] } })) }),

    /**
     * Returns the sites of an organisation that meet every filter, that of the newest scan first. `next` is the place to continue
     * from, null at the end; there may be a `next` although fewer than `limit` sites were found.
     */
    async search(
      organisation: string,
      { text = '', hidden = false, after = null, limit }: SiteSearch,
    ): Promise<{ sites: ListedHost[]; next: Position | null; hidden: number }> {
      const labelled = await labels.find({ organisation }).limit(LABELS_MAX).toArray();
      const part = containing(text);
      const hiddenOnes = labelled.filter((label) => label.hidden).map(({ site }) => site);
      const own: SiteFilter[] = [{ organisation }, ...(after === null ? [] : [afterPosition<SiteDocument>(after)])];
      const filters: SiteFilter[] = [
        ...(part === null ? [] : [{ $or: [{ site: part }, { site: { $in: namedLike(labelled, text) } }] }]),
        ...(hidden ? [{ site: { $in: hiddenOnes } }] : hiddenOnes.length === 0 ? [] : [{ site: { $nin: hiddenOnes } }]),
      ];
      const boundary = filters.length === 0 ? null : await boundaryOf(sites, { $and: own }, examinedMax);
      const all = [...own, ...filters, ...(boundary === null ? [] : [upTo<SiteDocument>(boundary)])];
      const most = limit * GROUPS_READ;
      const read = await sites.find({ $and: all }).sort(NEWEST_FIRST).limit(most).toArray();
      const readIds = new Set(read.map(({ _id }) => _id));
      const hosts = [...new Set(read.map(({ site }) => site))];
      const isWhole = after === null && boundary === null && read.length < most;
      // The rest of the groups: newer ones that earlier parts of the list had read, and older ones.
      const others = isWhole
        ? []
        : (await groupsOf(organisation, hosts, hosts.length * SITE_GROUPS_MAX)).filter(({ _id }) => !readIds.has(_id));
      const groups = Map.groupBy([...read, ...others].sort(byNewest), ({ site }) => site);
      const here = hosts.map((site) => groups.get(site)!).filter(([newest]) => readIds.has(newest!._id));
      const end = read.length === most ? positionOf(read.at(-1)!) : boundary;
      const listed = here.slice(0, limit);
      return {
        sites: listed.map((of) => ({ ...labelOf(labelled, of[0]!.site), position: positionOf(of[0]!), groups: of.map(toSite) })),
        hidden: hiddenOnes.length,
        next: here.length > limit ? positionOf(listed.at(-1)![0]!) : end,
      };
    },

    /** Names a host, hides it in lists, or shows it again. @returns false if the organisation has too many such hosts */
    async label(organisation: string, { site, name, hidden }: SiteLabel): Promise<boolean> {
      const _id = `${organisation}/${site}`;
      if (name === null && !hidden) await labels.deleteOne({ _id });
      else if ((await labels.countDocuments({ organisation, site: { $ne: site } }, { limit: LABELS_MAX })) >= LABELS_MAX) return false;
      else await retryRace(() => labels.updateOne({ _id }, { $set: { organisation, site, name, hidden } }, { upsert: true }));
      return true;
    },

    /** Returns one group of comparable options of a host, or null. */
    async find(organisation: string, site: string, optionsKey: string): Promise<Site | null> {
      const found = await sites.findOne({ _id: idOf({ organisation, site, optionsKey }), organisation });
      return found && toSite(found);
    },

    /** Returns one host with its groups of comparable options, at most `SITE_GROUPS_MAX`; none if there is no ended scan of it. */
    async of(organisation: string, site: string): Promise<HostGroups> {
      const [found, label] = await Promise.all([
        groupsOf(organisation, [site], SITE_GROUPS_MAX),
        labels.findOne({ _id: `${organisation}/${site}` }),
      ]);
      return { ...labelOf(label === null ? [] : [label], site), groups: found.map(toSite) };
    },

    /** Deletes a site whose scans are erased, with its name and every group of its options, except those that have a scan again. */
    async remove(organisation: string, site: string) {
      await renewEach({ organisation, site });
      await labels.deleteOne({ _id: `${organisation}/${site}` });
    },

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
    ...pointOf(row).map((point) => ({
      updateOne: {
        filter: { _id, 'history.scan': { $ne: row.id } },
        update: { $push: { history: { $each: [point], $sort: { at: 1 as const }, $slice: -HISTORY_MAX } } },
      },
    })),
  ];
}

const pointOf = ({ id: scan, createdAt: at, options: { url }, outcome, phase }: ScanRow): SitePoint[] =>
  outcome === null || phase !== 'done' ? [] : [{ scan, at, url, score: outcome.score, violations: outcome.violations.total }];

function newestIn({ id: scan, createdAt, phase, passed, finishedAt, updatedAt }: ScanRow) {
  return { scan, createdAt, phase: phase as TerminalPhase, passed, finishedAt: finishedAt ?? updatedAt };
}
const doneIn = (row: ScanRow | null) => (row === null ? { done: null, doneAt: NEVER } : { done: row.id, doneAt: row.createdAt });

function toSite({ _id, doneAt: _doneAt, history = [], ...site }: SiteDocument): Site {
  return { ...site, history };
}

const byNewest = (a: SiteDocument, b: SiteDocument): number =>
  b.createdAt.getTime() - a.createdAt.getTime() || (a._id < b._id ? 1 : a._id > b._id ? -1 : 0);

function labelOf(labels: readonly LabelDocument[], site: string): SiteLabel {
  const { name = null, hidden = false } = labels.find((one) => one.site === site) ?? {};
  return { site, name, hidden };
}

const namedLike = (labels: readonly LabelDocument[], text: string): string[] =>
  labels.filter(({ name }) => name?.toLowerCase().includes(text.trim().toLowerCase())).map(({ site }) => site);
