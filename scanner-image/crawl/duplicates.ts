/**
 * Recognises a page that was already tested under another address: by the address itself, or by canonical links. Pure.
 *
 * A canonical link is trusted if the two addresses differ in the query only, or if the titles are equal too, because many
 * sites name their start page as the canonical address of every page.
 */
import { pageKey } from './address.ts';

export interface Duplicates {
  /** Whether a page with this key, canonical address and title was added before. */
  has(key: string, canonical: URL | null, title: string): boolean;
  add(key: string, canonical: URL | null, title: string): void;
}

export function createDuplicates(): Duplicates {
  /** Titles of tested pages by key. */
  const tested = new Map<string, string>();
  /** Titles of tested pages by the key of their canonical address. */
  const claimed = new Map<string, string>();
  return {
    has(key, canonical, title) {
      if (claimed.get(key) === title) return true;
      if (canonical === null) return false;
      const canonicalKey = pageKey(canonical);
      const known = tested.get(canonicalKey) ?? claimed.get(canonicalKey);
      return known !== undefined && (known === title || withoutQuery(canonicalKey) === withoutQuery(key));
    },
    add(key, canonical, title) {
      tested.set(key, title);
      if (canonical !== null) claimed.set(pageKey(canonical), title);
    },
  };
}

/** The key of a page without its query. */
export function withoutQuery(key: string): string {
  return key.split('?', 1)[0] ?? key;
}
