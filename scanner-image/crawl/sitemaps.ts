/** Collects the pages of a site's sitemaps, also of indexes and gzip, within limits. Files are read while they arrive. */
import { pipeline, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { FetchRefused, type GuardedFetch } from '../egress/fetch.ts';
import { createSitemapReader } from './sitemap-reader.ts';

const MAX_FILES = 30;
const MAX_DEPTH = 3;
/** The size of a file that the protocol allows, in bytes, packed and unpacked. */
const MAX_BYTES = 50 * 1024 * 1024;
/** The bytes of a file that are parsed at once, so that the proxy and the timers of the process do not wait. */
const SLICE = 64 * 1024;
/** The number of collected pages, as a multiple of those of one file: the templates of a site often have files of their own. */
const FILES_FACTOR = 4;

export interface SitemapOptions {
  /** Reading a file stops after this many pages. */
  enough: number;
  /** Returns the page to collect, or null. */
  take: (url: string) => URL | null;
  /** In milliseconds since the epoch. */
  deadline: number;
  headersFor?: (url: URL) => Record<string, string>;
  now?: () => number;
}

/**
 * Collects pages from sitemaps, breadth first, in their order. A sitemap that cannot be fetched or parsed is skipped,
 * because the site is also crawled by its links.
 */
export async function collectSitemaps(starts: URL[], files: GuardedFetch, options: SitemapOptions): Promise<URL[]> {
  const { now = Date.now } = options;
  const pages = new Map<string, URL>();
  const seen = new Set<string>();
  let level = starts;
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const next: URL[] = [];
    for (const location of level) {
      const timeoutMs = options.deadline - now();
      if (seen.has(location.href) || seen.size >= MAX_FILES || pages.size >= options.enough * FILES_FACTOR || timeoutMs <= 0) continue;
      seen.add(location.href);
      const found = await readFile(location, files, { ...options, timeoutMs });
      for (const page of found.pages) pages.set(page.href, page);
      next.push(...found.sitemaps);
    }
    level = next;
  }
  return [...pages.values()];
}

async function readFile(
  location: URL,
  files: GuardedFetch,
  options: SitemapOptions & { timeoutMs: number },
): Promise<{ pages: URL[]; sitemaps: URL[] }> {
  const pages: URL[] = [];
  const sitemaps: URL[] = [];
  const reader = createSitemapReader({
    page(text) {
      const page = pages.length < options.enough ? options.take(text) : null;
      if (page !== null) pages.push(page);
    },
    sitemap(text) {
      if (sitemaps.length < MAX_FILES && URL.canParse(text, location.href)) sitemaps.push(new URL(text, location));
    },
  });
  async function consume(packed: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const slice of slices(unpacked(packed))) {
      reader.write(decoder.decode(slice, { stream: true }));
      if (pages.length >= options.enough || sitemaps.length >= MAX_FILES) return;
      await nextTurn();
    }
    reader.end();
  }
  const { timeoutMs, headersFor } = options;
  try {
    await files.get(location, { maxBytes: MAX_BYTES, larger: 'cut', timeoutMs, headersFor, consume });
  } catch (error) {
    if (!(error instanceof FetchRefused) && !isDamaged(error)) throw error;
  }
  return { pages, sitemaps };
}

/** Whether a packed file is damaged, by the codes of zlib. */
const isDamaged = (error: unknown): boolean => /^Z_/.test((error as NodeJS.ErrnoException | null)?.code ?? '');

/** Yields the content of a file that may be packed with gzip, up to the limit. */
async function* unpacked(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  const first = await source.next();
  if (first.done === true) return;
  const all = prepended(first.value, source);
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) return yield* all;
  let bytes = 0;
  const gunzip = createGunzip();
  // An error of the source or of the format ends the loop below with it.
  pipeline(Readable.from(all), gunzip, () => undefined);
  for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return;
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
