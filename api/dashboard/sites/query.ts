/** The query of the list of sites: filters and place. It is kept in the address of the page. Pure. */
import { DASHBOARD_PATH } from '../../../core/web-paths.ts';
import { SEARCH_TEXT_MAX, type Position } from '../../../stores/scans/positions.ts';
import { VERDICTS, type VerdictFilter } from '../../../stores/scans/scan-search.ts';
import type { SiteSearch } from '../../../stores/scans/sites.ts';
import { encodeCursor } from '../../http/pagination.ts';
import { positionOf } from '../list-query.ts';
import { addressOf } from '../../web/address.ts';

export interface SiteQuery {
  /** Part of a host. Empty: every site. */
  search: string;
  verdict: VerdictFilter | null;
  /** Only sites after this one in the list. Null: from the first one on. */
  after: Position | null;
}

export const ALL_SITES: SiteQuery = { search: '', verdict: null, after: null };

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readSiteQuery({ q, verdict, after }: Readonly<Record<string, unknown>>): SiteQuery {
  return {
    search: typeof q === 'string' ? q.trim().slice(0, SEARCH_TEXT_MAX) : '',
    verdict: VERDICTS.find((one) => one === verdict) ?? null,
    after: positionOf(after),
  };
}

/** The address of a list. */
export const sitesHref = ({ search, verdict, after }: SiteQuery, path: string = DASHBOARD_PATH): string =>
  addressOf(path, { q: search, verdict, after: after && encodeCursor(after) });

/** The number of filters that are set. */
export const activeSiteFilters = ({ search, verdict }: SiteQuery): number => (search === '' ? 0 : 1) + (verdict === null ? 0 : 1);

export const toSiteSearch = ({ search, verdict, after }: SiteQuery, limit: number): SiteSearch => ({
  text: search,
  ...(verdict !== null && { verdict }),
  after,
  limit,
});
