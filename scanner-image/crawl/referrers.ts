/** Remembers where addresses were found, so that the report says which pages link to one that was not tested. Bounded. Pure. */
import { LINKED_FROM_MAX, type ReportPage } from '../../report/schema/schema.ts';
import { pageKey } from './address.ts';

export interface Referrers {
  /** Remembers from now on who links to an address. Only addresses that may be listed need it. @param sitemap lists the address */
  follow(key: string, sitemap?: string): void;
  /** Records that a page links to an address. Must be called in the order in which pages are processed. */
  link(key: string, page: { url: string; key: string }): void;
  /** Adds to each untested page the first pages that link to it, or the sitemap if none does. */
  addTo(pages: readonly ReportPage[]): ReportPage[];
}

interface Found {
  pages: string[];
  sitemap?: string;
}

export function createReferrers(): Referrers {
  const followed = new Map<string, Found>();
  return {
    follow(key, sitemap) {
      const found = followed.get(key);
      if (found === undefined) followed.set(key, { pages: [], sitemap });
      else found.sitemap ??= sitemap;
    },
    link(key, page) {
      const pages = followed.get(key)?.pages;
      if (pages === undefined || pages.length >= LINKED_FROM_MAX || key === page.key || pages.includes(page.url)) return;
      pages.push(page.url);
    },
    addTo: (pages) =>
      pages.map((page) => {
        const found = page.tested ? undefined : followed.get(pageKey(new URL(page.url)));
        if (page.tested || found === undefined) return page;
        const linkedFrom = found.pages.length > 0 ? found.pages : found.sitemap === undefined ? [] : [found.sitemap];
        return linkedFrom.length === 0 ? page : { ...page, linked_from: linkedFrom };
      }),
  };
}
