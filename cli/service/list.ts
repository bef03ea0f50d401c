/** Reads the organisation's scans, page by page. */
import type { Client } from './client.ts';
import type { ListedScan, ScanPage } from './messages.ts';

/** Scans per request. */
const PAGE_MAX = 100;

/** Reads at most `limit` scans, newest first. */
export async function listAll(client: Client, { status, limit }: { status: string | undefined; limit: number }): Promise<ScanPage> {
  const data: ListedScan[] = [];
  let cursor: string | null = null;
  do {
    const page: ScanPage = await client.list({ status, limit: Math.min(PAGE_MAX, limit - data.length), cursor });
    data.push(...page.data);
    cursor = page.data.length === 0 ? null : page.next_cursor;
  } while (cursor !== null && data.length < limit);
  return { data: data.slice(0, limit), next_cursor: cursor };
}
