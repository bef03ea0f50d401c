/** Collects the pages of a site's sitemaps, also of indexes and gzip, within limits. Files are read while they arrive. */
import { pipeline, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { Parser } from 'htmlparser2';
import { FetchRefused, type GuardedFetch } from '../egress/fetch.ts';
import type { PageAddress } from './address.ts';
import { decoderFor } from './robots.ts';

export const SITEMAPS_MAX = 30;
const MAX_DEPTH = 3;
/** The size of a file that the protocol allows, in bytes, packed and unpacked. */
export const SITEMAP_MAX_BYTES = 50 * 1024 * 1024;
/** The bytes of a file that are parsed at once, so that the proxy and the timers of the process do not wait. */
const SLICE = 64 * 1024;
/** How often a file may be packed: a server may pack one that is packed. */
const PACKED_MAX = 2;
/** The number of collected pages, as a multiple of those of one file: the templates of a site often have files of their own. */
const FILES_FACTOR = 4;

export interface SitemapOptions {
  /** Robots.txt names no sitemap, so the start is at the usual address, and need not exist. */
  isDefault?: boolean;
  /** Returns the URL at which a named sitemap is read. */
  locate?: (url: URL) => URL;
  /** Reading a file stops after this many pages. */
  enough: number;
  /** Returns the page to collect, or null. */
  take: (url: string, sitemap: URL) => PageAddress | null;
  /** In milliseconds since the epoch. */
  deadline: number;
  headersFor?: (url: URL) => Record<string, string>;
}

/** A sitemap that was not read, or not to its end. */
export interface UnreadSitemap {
  url: URL;
  /** A sentence. */
  message: string;
}

export interface CollectedSitemaps {
  pages: PageAddress[];
  /** Each of them is the reason why pages may be missing. */
  unread: UnreadSitemap[];
  /** The number of sitemaps that were not read, or not to their end, because enough pages were found. */
  cut: number;
}

/** Collects pages from sitemaps, breadth first, in their order. One that cannot be read is skipped, because the site is also crawled by its links. */
export async function collectSitemaps(starts: URL[], files: GuardedFetch, options: SitemapOptions): Promise<CollectedSitemaps> {
  const pages = new Map<string, PageAddress>();
  const unread: UnreadSitemap[] = [];
  const seen = new Set<string>();
  let cut = 0;
  let level = starts;
  for (let depth = 0; level.length > 0; depth++) {
    const next: URL[] = [];
    for (const url of level.map((named) => options.locate?.(named) ?? named)) {
      if (seen.has(url.href)) continue;
      if (pages.size >= options.enough * FILES_FACTOR) {
        seen.add(url.href);
        cut += 1;
        continue;
      }
      const timeoutMs = options.deadline - Date.now();
      const limit = limitOf({ depth, files: seen.size, timeoutMs });
      if (limit !== null) {
        unread.push({ url, message: limit });
        continue;
      }
      seen.add(url.href);
      const found = await readFile(url, files, { ...options, isDefault: options.isDefault === true && depth === 0, timeoutMs });
      for (const page of found.pages) pages.set(page.href, page);
      next.push(...found.sitemaps);
      if (found.cut) cut += 1;
      if (found.problem !== null) unread.push({ url, message: found.problem });
    }
    level = next;
  }
  return { pages: [...pages.values()], unread, cut };
}

/** Returns why no further sitemap is read, or null. */
function limitOf(state: { depth: number; files: number; timeoutMs: number }): string | null {
  if (state.depth > MAX_DEPTH) return `It was not read, because it is listed within ${MAX_DEPTH + 1} indexes.`;
  if (state.files >= SITEMAPS_MAX) return `It was not read, because a scan reads at most ${SITEMAPS_MAX} sitemaps.`;
  return state.timeoutMs <= 0 ? 'It was not read, because the time for sitemaps was up.' : null;
}

interface ReadFile {
  pages: PageAddress[];
  sitemaps: URL[];
  /** Why the file was not read to its end; null if it was, or if it has given enough pages. */
  problem: string | null;
  /** Whether it was not read to its end, because it has given enough pages. */
  cut: boolean;
}

async function readFile(location: URL, files: GuardedFetch, options: SitemapOptions & { timeoutMs: number }): Promise<ReadFile> {
  const pages: PageAddress[] = [];
  const sitemaps: URL[] = [];
  let listed = 0;
  let cut = false;
  const reader = createSitemapReader({
    page(text) {
      if (pages.length >= options.enough) cut = true;
      const page = cut ? null : options.take(text, location);
      if (page !== null) pages.push(page);
    },
    sitemap(text) {
      if (!URL.canParse(text, location.href)) return;
      listed += 1;
      if (sitemaps.length < SITEMAPS_MAX) sitemaps.push(new URL(text, location));
    },
  });
  const size = { cut: false };
  async function consume(packed: AsyncIterable<Uint8Array>, contentType: string): Promise<void> {
    let decoder: TextDecoder | null = null;
    for await (const slice of slices(unpacked(packed, size))) {
      cut ||= pages.length >= options.enough;
      if (cut || listed > SITEMAPS_MAX) return;
      decoder ??= decoderFor(slice, contentType);
      reader.write(decoder.decode(slice, { stream: true }));
      await nextTurn();
    }
    reader.write(decoder?.decode() ?? '');
    reader.end();
  }
  let problem: string | null = null;
  const { timeoutMs, headersFor, isDefault = false } = options;
  try {
    const answer = await files.get(location, { maxBytes: SITEMAP_MAX_BYTES, timeoutMs, headersFor, consume });
    problem = problemOf({ status: answer.status, cut: answer.cut || size.cut, kind: reader.kind(), isDefault });
  } catch (error) {
    if (!(error instanceof FetchRefused) && !isDamaged(error)) throw error;
    problem = error instanceof FetchRefused ? error.message : 'It is damaged, so it was not unpacked to its end.';
  }
  if (listed > SITEMAPS_MAX) problem ??= `It lists more than ${SITEMAPS_MAX} sitemaps, of which the first were read.`;
  return { pages, sitemaps, problem: pages.length >= options.enough ? null : problem, cut };
}

function problemOf(file: { status: number; cut: boolean; kind: FileKind; isDefault: boolean }): string | null {
  const { status } = file;
  // The site has no sitemap at the usual address, or answers every address with a page.
  if (file.isDefault && (status === 200 ? file.kind === 'html' : status < 500 && status !== 429)) return null;
  if (status !== 200) return `The server responded with status ${status}.`;
  if (file.kind !== 'sitemap') return 'It is neither a sitemap, RSS or Atom in XML without entities of its own, nor a list of addresses.';
  return file.cut ? `It is larger than ${SITEMAP_MAX_BYTES / 1024 / 1024} MiB, so its end was not read.` : null;
}

/** Whether a packed file is damaged, by the codes of zlib. */
const isDamaged = (error: unknown): boolean => /^Z_/.test((error as NodeJS.ErrnoException | null)?.code ?? '');

/** Yields the content of a file that may be packed with gzip, up to the limit. Sets `size.cut` if it is larger. */
async function* unpacked(chunks: AsyncIterable<Uint8Array>, size: { cut: boolean }, layers = PACKED_MAX): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  const first = await source.next();
  if (first.done === true) return;
  const all = prepended(first.value, source);
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b || layers === 0) return yield* all;
  const gunzip = createGunzip();
  // An error of the source or of the format ends the loop below with it.
  pipeline(Readable.from(all), gunzip, () => undefined);
  yield* unpacked(limited(gunzip, size), size, layers - 1);
}

async function* limited(chunks: AsyncIterable<Uint8Array>, size: { cut: boolean }): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > SITEMAP_MAX_BYTES) {
      size.cut = true;
      return;
    }
    yield chunk;
  }
}

async function* prepended(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* slices(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) for (let at = 0; at < chunk.length; at += SLICE) yield chunk.subarray(at, at + SLICE);
}

/**
 * Reads a sitemap while it arrives: XML (urlset, index, RSS or Atom), or text with one URL per line, as the protocol allows. Anything else is
 * empty. Pure.
 */
interface SitemapReader {
  write(text: string): void;
  end(): void;
  /** What the file is, as far as it was read. A sitemap has a known root element and no entities of its own, or a URL in text. */
  kind(): FileKind;
}
type FileKind = 'sitemap' | 'html' | 'other';

interface SitemapEvents {
  /** Called with the URL of a page, as it is written. */
  page(url: string): void;
  /** Called with the URL of a further sitemap. */
  sitemap(url: string): void;
}

/** Longer URLs are not pages of a scan, so that a file without tags or lines needs no memory. */
const URL_MAX = 4096;

export function createSitemapReader(events: SitemapEvents): SitemapReader {
  let reader: SitemapReader | null = null;
  return {
    write(text) {
      if (reader === null) {
        const start = text.replace(/^[\s\uFEFF]+/, '');
        if (start === '') return;
        reader = start.startsWith('<') ? xmlReader(events) : textReader(events);
      }
      reader.write(text);
    },
    end: () => reader?.end(),
    kind: () => reader?.kind() ?? 'other',
  };
}

function textReader({ page }: SitemapEvents): SitemapReader {
  let rest = '';
  let found = false;
  const take = (line: string): void => {
    const url = line.trim();
    if (!/^https?:\/\//i.test(url)) return;
    found = true;
    page(url);
  };
  return {
    write(text) {
      const lines = (rest + text).split(/\r?\n/);
      rest = (lines.pop() ?? '').slice(0, URL_MAX);
      for (const line of lines) take(line);
    },
    end: () => take(rest),
    kind: () => (found ? 'sitemap' : 'other'),
  };
}

/** The elements around the URL of a page, and of a sitemap. Those of Atom have it in an attribute. */
const PAGES = new Set(['urlset/url/loc', 'rss/channel/item/link', 'rdf/item/link', 'feed/entry/link']);
const SITEMAP = 'sitemapindex/sitemap/loc';
const ROOTS = new Set([...PAGES, SITEMAP].map((place) => place.split('/', 1)[0]!));
const DEPTH_MAX = 20;

function xmlReader(events: SitemapEvents): SitemapReader {
  const path: string[] = [];
  let url: string | null = null;
  let over = false;
  let root = '';
  const parser = new Parser(
    {
      // Entities could make a small file huge, and sitemaps need none.
      onprocessinginstruction(name, text) {
        if (/!entity/i.test(text)) over = true;
        if (/^!doctype\s+html\b/i.test(text)) root = 'html';
      },
      onopentag(name, { href, rel = 'alternate' }) {
        if (path.length >= DEPTH_MAX) over = true;
        path.push(name.slice(name.indexOf(':') + 1).toLowerCase());
        root ||= path[0]!;
        const isUrl = path.at(-1) === 'loc' || path.at(-1) === 'link';
        if (isUrl) url = path[0] === 'feed' && rel === 'alternate' ? (href ?? '') : '';
      },
      ontext(text) {
        if (url !== null && url.length < URL_MAX) url += text;
      },
      onclosetag() {
        const place = path.join('/');
        const found = url?.trim() ?? '';
        if (!over && found !== '' && PAGES.has(place)) events.page(found);
        if (!over && found !== '' && place === SITEMAP) events.sitemap(found);
        url = null;
        path.pop();
      },
    },
    { xmlMode: true },
  );
  return {
    write(text) {
      if (!over) parser.write(text);
    },
    end() {
      if (!over) parser.end();
    },
    kind: () => (root === 'html' ? 'html' : ROOTS.has(root) && !over ? 'sitemap' : 'other'),
  };
}
