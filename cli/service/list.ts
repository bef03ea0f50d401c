/** Reads the organisation's scans, page by page. */
import type { Client, ScanFilters } from './client.ts';
import type { ListedScan, ScanPage } from './messages.ts';

/** The largest list. Without a bound, a command could read the whole history of an organisation, request by request. */
export const LISTED_MAX = 1000;
/** Scans per request. */
const PAGE_MAX = 100;
/** Pages without a scan, one after the other, after which the search ends. Each is thousands of scans that do not meet the filters. */
const EMPTY_PAGES_MAX = 20;

/** Reads at most `limit` scans, newest first. `next_cursor` is not null if there may be more. */
export async function listAll(client: Client, { limit, ...filters }: ScanFilters & { limit: number }): Promise<ScanPage> {
  const data: ListedScan[] = [];
  let cursor: string | null = null;
  let empty = 0;
  do {
    const page: ScanPage = await client.list({ ...filters, limit: Math.min(PAGE_MAX, limit - data.length), cursor });
    data.push(...page.data);
    empty = page.data.length === 0 ? empty + 1 : 0;
    cursor = page.next_cursor;
  } while (cursor !== null && data.length < limit && empty < EMPTY_PAGES_MAX);
  return { data: data.slice(0, limit), next_cursor: cursor };
}
