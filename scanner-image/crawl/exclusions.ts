/** Lists addresses that were found and are not part of the scan. Pure. */
import type { UntestedPage } from '../../report/schema/schema.ts';
import type { PageAddress } from './address.ts';
import { untestedPage, type WrongPage } from './page-checks.ts';

/** The number of listed addresses. The others are counted, because a site may have any number of them. */
export const EXCLUSIONS_MAX = 100;
/** The number of counted addresses, so that a scan cannot fill the memory. */
const COUNTED_MAX = 100_000;

export interface Exclusions {
  /** @returns whether the address is listed */
  add(page: PageAddress, why: WrongPage): boolean;
  /** Counts addresses that were not read, or not kept. */
  count(addresses: number): void;
  /** The listed addresses, in the order in which they were found. */
  pages(): UntestedPage[];
  /** The number of addresses that are not listed. */
  beyond(): number;
}

export function createExclusions(): Exclusions {
  const listed = new Map<string, UntestedPage>();
  const counted = new Set<string>();
  let unread = 0;
  return {
    add({ href, key }, why) {
      if (!listed.has(key) && !counted.has(key)) {
        if (listed.size < EXCLUSIONS_MAX) listed.set(key, untestedPage(href, why));
        else if (counted.size < COUNTED_MAX) counted.add(key);
      }
      return listed.has(key);
    },
    count(addresses) {
      unread += addresses;
    },
    pages: () => [...listed.values()],
    beyond: () => counted.size + unread,
  };
}
