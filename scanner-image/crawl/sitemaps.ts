/** Collects the pages of a site's sitemaps: XML, sitemap indexes, gzip or plain text, within limits. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { XMLParser } from 'fast-xml-parser';
import { FetchRefused, type GuardedFetch } from '../egress/fetch.ts';

const MAX_FILES = 30;
const MAX_DEPTH = 3;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_UNPACKED = 50 * 1024 * 1024;

export interface Sitemap {
  /** URLs of pages, as they are written. */
  pages: string[];
  /** URLs of further sitemaps. */
  sitemaps: string[];
}

const parser = new XMLParser({
  ignoreAttributes: true,
  processEntities: false, // the file is untrusted, and entities can expand without limit
  parseTagValue: false,
  removeNSPrefix: true,
  isArray: (name) => name === 'url' || name === 'sitemap',
});

const BUILT_IN: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescape(text: string): string {
  return text
    .replace(/&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});/g, (whole, name: string) => {
      const code = name.startsWith('#x') ? parseInt(name.slice(2), 16) : name.startsWith('#') ? Number(name.slice(1)) : null;
      if (code === null) return BUILT_IN[name] ?? whole;
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    })
    .trim();
}

/** Parses a sitemap: XML (urlset or index), or text with one URL per line. Anything else is empty. Pure. */
export function parseSitemap(text: string): Sitemap {
  const start = text.trimStart();
  if (!start.startsWith('<')) {
    const pages = start.split(/\r?\n/).filter((line) => /^https?:\/\//i.test(line.trim()));
    return { pages: pages.map((line) => line.trim()), sitemaps: [] };
  }
  if (/<!DOCTYPE|<!ENTITY/i.test(start.slice(0, 10_000))) return { pages: [], sitemaps: [] };
  let root: { urlset?: { url?: unknown[] }; sitemapindex?: { sitemap?: unknown[] } };
  try {
    root = parser.parse(start) as typeof root;
  } catch {
    return { pages: [], sitemaps: [] };
  }
  return { pages: locations(root.urlset?.url), sitemaps: locations(root.sitemapindex?.sitemap) };
}

function locations(items: unknown): string[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => {
    const loc = (item as { loc?: unknown } | null)?.loc;
    return typeof loc === 'string' && loc !== '' ? [unescape(loc)] : [];
  });
}

async function unpack(body: Uint8Array): Promise<Uint8Array> {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return body;
  return promisify(gunzip)(body, { maxOutputLength: MAX_UNPACKED });
}

/**
 * Collects pages from sitemaps, breadth first, in their order. A sitemap that cannot be fetched or parsed is skipped,
 * because the site is also crawled by its links.
 * @param options.take returns the page to collect, or null; collecting stops after `enough` pages
 * @param options.deadline in milliseconds since the epoch
 */
export async function collectSitemaps(
  starts: URL[],
  files: GuardedFetch,
  options: {
    enough: number;
    take: (url: string) => URL | null;
    deadline: number;
    headersFor?: (url: URL) => Record<string, string>;
    now?: () => number;
  },
): Promise<URL[]> {
  const { now = Date.now } = options;
  const pages = new Map<string, URL>();
  const seen = new Set<string>();
  let level = starts;
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const next: URL[] = [];
    for (const location of level) {
      const left = options.deadline - now();
      if (seen.has(location.href) || seen.size >= MAX_FILES || pages.size >= options.enough || left <= 0) continue;
      seen.add(location.href);
      const sitemap = await read(location, files, Math.min(10_000, left), options.headersFor);
      for (const text of sitemap.pages) {
        if (pages.size >= options.enough) break;
        const page = options.take(text);
        if (page !== null) pages.set(page.href, page);
      }
      for (const text of sitemap.sitemaps) if (URL.canParse(text, location.href)) next.push(new URL(text, location));
    }
    level = next;
  }
  return [...pages.values()];
}

async function read(
  location: URL,
  files: GuardedFetch,
  timeoutMs: number,
  headersFor?: (url: URL) => Record<string, string>,
): Promise<Sitemap> {
  try {
    const { status, body } = await files.get(location, { maxBytes: MAX_BYTES, timeoutMs, headersFor });
    if (status !== 200) return { pages: [], sitemaps: [] };
    return parseSitemap(new TextDecoder().decode(await unpack(body)));
  } catch (error) {
    if (error instanceof FetchRefused || error instanceof RangeError || (error as NodeJS.ErrnoException).code?.startsWith('Z_') === true)
      return { pages: [], sitemaps: [] };
    throw error;
  }
}
