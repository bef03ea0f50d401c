/**
 * Searches the scans of an organisation. The combination of filters decides which index is used. Filters that it does not cover are
 * applied to a limited number of rows per query. So no query reads all scans of a large organisation.
 */
import type { Collection, Filter } from 'mongodb';
import { pairText, type Metadata } from '../../core/scan/metadata.ts';
import type { Phase } from '../../core/scan/phases.ts';
import { type ScanDocument, type ScanRow, toRow } from './scan-row.ts';
import { afterPosition, boundaryOf, containing, EXAMINED_MAX, NEWEST_FIRST, positionOf, upTo, type Position } from './positions.ts';

export const VERDICTS = ['passed', 'missed', 'none'] as const;
/** `missed`: a threshold is not met, or the scan has thresholds and no result. `none`: the scan is done and has no thresholds. */
export type VerdictFilter = (typeof VERDICTS)[number];

export interface ScanSearch {
  /** Only scans in one of these phases. */
  phases?: readonly Phase[];
  verdict?: VerdictFilter;
  /** The exact host, as `siteOf` returns it. */
  site?: string;
  /** Only scans of the site with these options, as `optionsKeyOf` returns it. It needs `site`. */
  optionsKey?: string;
  /** A part of the URL, in any case. Longer texts than `SEARCH_TEXT_MAX` are cut. */
  text?: string;
  origin?: ScanRow['origin'];
  /** Only the scans of this schedule. */
  schedule?: { namespace: string; name: string };
  /** Only scans with all of these pairs. Empty: all scans. */
  metadata?: Metadata;
  /** Only scans that were submitted at this time or later. */
  since?: Date;
  /** Only scans that were submitted before this time. */
  until?: Date;
  /** Only scans after this one in the list. */
  after?: Position | null;
  limit: number;
}

/**
 * `next` is the position to continue from; null at the end. A search that found fewer than `limit` scans may still have a
 * `next`: it has then looked at as many scans as one query may.
 */
export interface FoundScans {
  rows: ScanRow[];
  next: Position | null;
}

type ScanFilter = Filter<ScanDocument>;

const anyOf = (phases: readonly Phase[]): ScanFilter => ({ phase: phases.length === 1 ? phases[0] : { $in: phases } });

/** The filters that are set, each with whether an index of organisation, its field and time exists. The first one is the most selective. */
function filtersOf({
  site,
  optionsKey,
  verdict,
  phases,
  origin,
  schedule,
  text,
  metadata = {},
}: ScanSearch): { filter: ScanFilter; indexed: boolean }[] {
  const [pair, ...pairs] = Object.entries(metadata).map(pairText);
  const part = containing(text ?? '');
  return [
    ...(schedule === undefined
      ? []
      : [{ filter: { schedule: schedule.name, 'resource.namespace': schedule.namespace } as ScanFilter, indexed: true }]),
    // One index has a pair, and another the site and a pair.
    // A third one has the site and its options.
    ...(site === undefined || optionsKey === undefined ? [] : [{ filter: { site, optionsKey }, indexed: true }]),
    ...((site === undefined || optionsKey !== undefined) && pair === undefined
      ? []
      : [{ filter: { ...(site !== undefined && { site }), ...(pair !== undefined && { metadata: pair }) }, indexed: true }]),
    ...pairs.map((other) => ({ filter: { metadata: other }, indexed: false })),
    ...(verdict === undefined || verdict === 'none' ? [] : [{ filter: { passed: verdict === 'passed' }, indexed: true }]),
    ...(phases === undefined ? [] : [{ filter: anyOf(phases), indexed: true }]),
    // Twice the phase if `phases` is set: both must be met.
    ...(verdict === 'none'
      ? [
          { filter: anyOf(['done']), indexed: true },
          { filter: { passed: null }, indexed: false },
        ]
      : []),
    ...(origin === undefined ? [] : [{ filter: { origin }, indexed: false }]),
    ...(part === null ? [] : [{ filter: { 'options.url': part } as ScanFilter, indexed: false }]),
  ];
}

/** Returns the accepted scans of an organisation that meet every filter, newest first. @param examinedMax for tests */
export async function searchScans(
  scans: Collection<ScanDocument>,
  organisation: string,
  search: ScanSearch,
  examinedMax = EXAMINED_MAX,
): Promise<FoundScans> {
  const { after, since, until, limit } = search;
  const own: ScanFilter[] = [
    { organisation },
    ...(after ? [afterPosition(after)] : []),
    ...(since === undefined ? [] : [{ createdAt: { $gte: since } }]),
    ...(until === undefined ? [] : [{ createdAt: { $lt: until } }]),
  ];
  const [first, ...others] = filtersOf(search);
  const isCovered = first === undefined || (first.indexed && others.length === 0);
  const driving = first?.indexed ? [...own, first.filter] : own;
  const boundary = isCovered ? null : await boundaryOf(scans, { $and: driving }, examinedMax);
  const filters = [first, ...others].flatMap((one) => (one === undefined ? [] : [one.filter]));
  const all: ScanFilter[] = [...own, { submission: 'accepted' }, ...filters, ...(boundary === null ? [] : [upTo(boundary)])];
  const found = await scans
    .find({ $and: all })
    .sort(NEWEST_FIRST)
    .limit(limit + 1)
    .toArray();
  const rows = found.slice(0, limit);
  const next = found.length > limit ? positionOf(rows.at(-1)!) : boundary;
  return { rows: rows.map(toRow), next };
}

/** A scan of a test key is compared only with others of test keys. */
const sameKind = (test: boolean): ScanFilter => ({ test: test ? true : { $exists: false } });

/** Not of scans that check a page again: they are no result of a site. */
export const NO_CHECK: ScanFilter = { 'baseline.check': { $exists: false } };

/** A search for the newest done scan of a kind. */
export type NewestDone = {
  /** The scan was submitted earlier than this. */
  before: Date;
  /** Only among scans of test keys. Default: only among others. */
  test?: boolean;
  /** As `siteOf` returns it. */
  site: string;
} & (
  | {
      /** At least one pair. */
      metadata: Metadata;
    }
  /** The name of the ScanSchedule that created the scan, in this namespace or in any one of the organisation. */
  | { schedule: string; namespace?: string }
);

/** As `Scans.newestDoneWith`. Reads the scans of the site with the first pair, newest first, until one is done and has the others. */
export async function newestDoneWith(scans: Collection<ScanDocument>, organisation: string, search: NewestDone): Promise<ScanRow | null> {
  const kind: ScanFilter[] =
    'schedule' in search
      ? [{ schedule: search.schedule, ...(search.namespace !== undefined && { 'resource.namespace': search.namespace }) }]
      : Object.entries(search.metadata).map((pair) => ({ metadata: pairText(pair) }));
  const done: ScanFilter = {
    organisation,
    site: search.site,
    phase: 'done',
    submission: 'accepted',
    createdAt: { $lt: search.before },
    ...sameKind(search.test === true),
    ...NO_CHECK,
  };
  const newest = await scans.findOne({ $and: [...kind, done] }, { sort: NEWEST_FIRST });
  return newest && toRow(newest);
}

/** The numbers of scans of a URL among which comparable ones are searched: one that precedes a scan, and those of a trend. */
const COMPARABLE_AMONG = { previous: 20, trend: 200 } as const;

/** What scans that can be compared have in common. */
export type Alike = Pick<ScanRow, 'organisation' | 'options' | 'optionsKey' | 'test'>;

/** The scans of the same URL and kind that are done. */
const doneAs = ({ organisation, options, test }: Alike): ScanFilter => ({
  organisation,
  'options.url': options.url,
  phase: 'done',
  submission: 'accepted',
  ...sameKind(test === true),
  ...NO_CHECK,
});

/** The newest scans that check a scan again are looked at. */
const CHECKS_MAX = 200;

/** Returns the newest done scans that check pages of a scan again, newest first. */
export async function checksOf(scans: Collection<ScanDocument>, organisation: string, scanId: string): Promise<ScanRow[]> {
  const checks = { organisation, 'baseline.scan': scanId, 'baseline.check': { $exists: true }, phase: 'done' as const };
  return (await scans.find(checks).sort(NEWEST_FIRST).limit(CHECKS_MAX).toArray()).map(toRow);
}

/** Returns the last done scans that can be compared with a scan, newest first; the scan is among them if it is one of the last. */
export async function trendOf(scans: Collection<ScanDocument>, row: Alike, limit: number): Promise<ScanRow[]> {
  const found: ScanRow[] = [];
  for await (const document of scans.find(doneAs(row)).sort(NEWEST_FIRST).limit(COMPARABLE_AMONG.trend)) {
    const one = toRow(document);
    if (one.optionsKey === row.optionsKey) found.push(one);
    if (found.length === limit) break;
  }
  return found;
}

/** Returns the last scan of the same URL that was done with comparable options and was submitted before a scan. */
export async function previousDoneOf(scans: Collection<ScanDocument>, row: ScanRow): Promise<ScanRow | null> {
  const earlier = scans
    .find({ $and: [doneAs(row), afterPosition({ at: row.createdAt, id: row.id })] })
    .sort(NEWEST_FIRST)
    .limit(COMPARABLE_AMONG.previous);
  return (await earlier.toArray()).map(toRow).find((one) => one.optionsKey === row.optionsKey) ?? null;
}
