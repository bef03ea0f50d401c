/** The query of the list of scans: filters, search and place. It is kept in the address of the page. Pure. */
import { METADATA_PAIR_MAX, readPair } from '../../core/scan/metadata.ts';
import { LIVE_PHASES, type Phase } from '../../core/scan/phases.ts';
import { SEARCH_TEXT_MAX, type Position } from '../../stores/scans/positions.ts';
import { VERDICTS, type ScanSearch, type VerdictFilter } from '../../stores/scans/scan-search.ts';
import { SCANS_PATH } from '../../core/web-paths.ts';
import { decodeCursor, encodeCursor } from '../http/pagination.ts';
import { addressOf } from '../web/address.ts';

/** The states that people filter by. `live`: the scan has not ended. */
const STATES = { live: LIVE_PHASES, done: ['done'], failed: ['failed'], canceled: ['canceled'] } as const satisfies Record<
  string,
  readonly Phase[]
>;
type State = keyof typeof STATES;

const ORIGINS = ['api', 'manifest'] as const satisfies ScanSearch['origin'][];

export interface ListQuery {
  /** Part of an address. Empty: every address. */
  search: string;
  /** The host of the site, as in the rows. Empty: every site. */
  site: string;
  /** A pair of metadata as it was typed, `KEY=VALUE`. Empty: every scan. */
  metadata: string;
  state: State | null;
  verdict: VerdictFilter | null;
  origin: (typeof ORIGINS)[number] | null;
  /** Only scans after this one in the list. Null: from the newest one on. */
  after: Position | null;
}

export const ALL_SCANS: ListQuery = { search: '', site: '', metadata: '', state: null, verdict: null, origin: null, after: null };

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readListQuery(params: Readonly<Record<string, unknown>>): ListQuery {
  const text = (name: string, max = SEARCH_TEXT_MAX): string => (typeof params[name] === 'string' ? params[name].trim().slice(0, max) : '');
  const one = <T extends string>(name: string, values: readonly T[]): T | null => values.find((value) => value === params[name]) ?? null;
  return {
    search: text('q'),
    site: text('site').toLowerCase(),
    metadata: text('metadata', METADATA_PAIR_MAX),
    state: one('state', Object.keys(STATES) as State[]),
    verdict: one('verdict', VERDICTS),
    origin: one('origin', ORIGINS),
    after: positionOf(params['after']),
  };
}

/** The position in a cursor of an address. */
export function positionOf(cursor: unknown): Position | null {
  try {
    return typeof cursor === 'string' ? decodeCursor(cursor) : null;
  } catch {
    // A cursor that was cut off: the list begins with the newest scans.
    return null;
  }
}

/** The address of a list. */
export const listHref = ({ search, after, ...filters }: ListQuery, path: string = SCANS_PATH): string =>
  addressOf(path, { q: search, ...filters, after: after && encodeCursor(after) });

/**
 * The address of the list that a person comes from, with its filters and place; that of all scans if they come from another page.
 * @param referer the header of the request
 * @param host that of this dashboard
 */
export function listBefore(referer: string | undefined, host: string): string {
  if (referer === undefined || !URL.canParse(referer)) return SCANS_PATH;
  const before = new URL(referer);
  if (before.host !== host || before.pathname !== SCANS_PATH) return SCANS_PATH;
  return listHref(readListQuery(Object.fromEntries(before.searchParams)));
}

/** The number of filters that are set. */
export const activeFilters = ({ search, site, metadata, state, verdict, origin }: ListQuery): number =>
  [search, site, metadata, state, verdict, origin].filter((one) => one !== '' && one !== null).length;

/** Whether the query leaves out scans. */
export const isFiltered = (query: ListQuery): boolean => activeFilters(query) > 0;

export function toSearch({ search, site, metadata, state, verdict, origin, after }: ListQuery, limit: number): ScanSearch {
  return {
    ...(search !== '' && { text: search }),
    ...(site !== '' && { site }),
    // What is no pair matches no scan, because no key is empty. The form says what is wrong.
    ...(metadata !== '' && { metadata: Object.fromEntries([readPair(metadata) ?? ['', metadata]]) }),
    ...(state !== null && { phases: STATES[state] }),
    ...(verdict !== null && { verdict }),
    ...(origin !== null && { origin }),
    after,
    limit,
  };
}
