/** Reads a sitemap while it arrives: XML (urlset or index), or text with one URL per line. Anything else is empty. Pure. */
import { Parser } from 'htmlparser2';

export interface SitemapReader {
  write(text: string): void;
  end(): void;
  /** Whether the file is a sitemap, as far as it was read: a known root element and no document type, or a URL in text. */
  isSitemap(): boolean;
}

export interface SitemapEvents {
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
    isSitemap: () => reader?.isSitemap() ?? false,
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
    isSitemap: () => found,
  };
}

/** The elements around a URL. */
const PAGE = 'urlset/url/loc';
const SITEMAP = 'sitemapindex/sitemap/loc';
const ROOTS = [PAGE, SITEMAP].map((place) => place.split('/', 1)[0]!);
const DEPTH_MAX = 20;

function xmlReader(events: SitemapEvents): SitemapReader {
  const path: string[] = [];
  let url: string | null = null;
  let over = false;
  let known = false;
  const parser = new Parser(
    {
      // A document type may define entities, and sitemaps have none.
      onprocessinginstruction(name) {
        if (name.startsWith('!')) over = true;
      },
      onopentagname(name) {
        if (path.length >= DEPTH_MAX) over = true;
        path.push(name.slice(name.indexOf(':') + 1).toLowerCase());
        if (path.length === 1) known ||= ROOTS.includes(path[0]!);
        if (path.length === 3) url = '';
      },
      ontext(text) {
        if (url !== null && path.length === 3 && url.length < URL_MAX) url += text;
      },
      onclosetag() {
        const place = path.join('/');
        const found = url?.trim() ?? '';
        if (!over && found !== '' && place === PAGE) events.page(found);
        if (!over && found !== '' && place === SITEMAP) events.sitemap(found);
        if (path.length === 3) url = null;
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
    isSitemap: () => known && !over,
  };
}
