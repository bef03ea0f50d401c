/** What stands for a scan ID: `latest`, or the beginning of an ID. */
import { isUuid } from '../../core/uuid.ts';
import { CliError, printable } from '../errors.ts';
import type { Client, ScanFilters } from './client.ts';
import type { ListedScan, ScanPage } from './messages.ts';

/**
 * Reads the organisation's scans, page by page. The largest list. Without a bound, a command could read the whole history of an
 * organisation, request by request.
 */
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

/** The shortest beginning of an ID, in characters. */
const SHORTEST = 4;
/** As many scans as an error names. */
const NAMED_MAX = 10;

/** The newest scan that is no check of a page. */
export const LATEST = 'latest';
/** Among so many of the newest scans, the first one that is no check is taken. */
export const NEWEST = 50;
export const isNoCheck = ({ baseline }: ListedScan): boolean => baseline?.check === undefined;

export const isScanId = isUuid;

/** Whether a text stands for an ID. */
export const isReference = (text: string): boolean =>
  text === LATEST || (text.length >= SHORTEST && /^[0-9a-f][0-9a-f-]*$/i.test(text) && !isScanId(text));

/**
 * Finds the scan that a text stands for.
 * @param note called with the scan that was found @throws CliError if there is none, several begin so, or it cannot be an ID
 */
export async function resolveReference(client: Client, text: string, note: (text: string) => void): Promise<string> {
  if (isScanId(text)) return text;
  if (!isReference(text))
    throw new CliError(
      `${printable(text)} is not the ID of a scan. Write the ID, at least its first ${SHORTEST} characters, or ${LATEST}.`,
      'To see the IDs: curbcut list',
    );
  const { data, next_cursor: more } = await listAll(client, { limit: text === LATEST ? NEWEST : LISTED_MAX });
  const found = text === LATEST ? data.filter(isNoCheck).slice(0, 1) : data.filter(({ scan_id: id }) => id.startsWith(text.toLowerCase()));
  const [only, ...others] = found;
  if (only === undefined) {
    if (text === LATEST)
      throw new CliError(
        data.length === 0 ? 'Your organisation has no scans yet.' : `The newest ${data.length} scans are checks of pages.`,
      );
    const where = more === null ? 'your organisation' : `the newest ${LISTED_MAX} scans of your organisation`;
    throw new CliError(`No scan of ${where} has an ID that begins with ${text}.`, 'To see the IDs: curbcut list');
  }
  if (others.length > 0)
    throw new CliError(`The IDs of ${found.length} scans begin with ${text}. Write more of it:`, ...found.slice(0, NAMED_MAX).map(lineOf));
  note(`Scan ${lineOf(only).trim()}`);
  return only.scan_id;
}

const lineOf = ({ scan_id: id, submitted_at: at, url }: ListedScan): string =>
  `  ${id}  ${at.slice(0, 16).replace('T', ' ')}  ${printable(url)}`;
