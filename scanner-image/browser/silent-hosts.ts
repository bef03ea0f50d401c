/** Hosts and files that did not answer earlier in a scan. Later pages do not wait for them, and say so. Pure. */

export interface SilentHosts {
  /** A response of this URL has begun. */
  answered(url: string): void;
  /** A response of this URL is complete. */
  finished(url: string): void;
  /** A page has waited for this URL without a response. It is blocked on later pages: all of its host, if that never answered. */
  gaveUp(url: string): void;
  /** A script's request for this URL was still open when its page was tested. */
  leftOpen(url: string): void;
  /** Whether a script's request is a long poll or a stream, which pages do not wait for: it was left open twice. */
  staysOpen(url: string): boolean;
  /** Whether a page has waited for this URL, or its host, in vain. */
  isSilent(url: string): boolean;
  /** Whether a page has waited in vain for this URL, and its host has never answered. */
  isSilentHost(url: string): boolean;
  /** Patterns of URLs to block on a page, in the form of `Network.setBlockedURLs`. */
  blockedOn(page: URL): string[];
}

/** A request that was left open on this number of pages, and never finished, is not waited for. */
const LEFT_OPEN_MAX = 2;
/** The number of hosts and files that are remembered. */
const MOST = 200;

/** The scheme, host and port of a URL, and its address without query; null for `data:` and other URLs without a host. */
function partsOf(url: string): { origin: string; address: string } | null {
  if (!URL.canParse(url)) return null;
  const { protocol, origin, pathname } = new URL(url);
  return protocol === 'http:' || protocol === 'https:' ? { origin, address: origin + pathname } : null;
}

/** Starts without any knowledge. One object serves all workers of a scan. */
export function createSilentHosts(): SilentHosts {
  const answering = new Set<string>();
  /** The origins and addresses that are blocked. */
  const silent = new Set<string>();
  const open = new Map<string, number>();

  return {
    answered(url) {
      const parts = partsOf(url);
      if (parts === null || answering.has(parts.origin)) return;
      answering.add(parts.origin);
      silent.delete(parts.origin);
    },
    finished(url) {
      const parts = open.size === 0 ? null : partsOf(url);
      if (parts !== null) open.delete(parts.address);
    },
    gaveUp(url) {
      const parts = partsOf(url);
      if (parts !== null && silent.size < MOST) silent.add(answering.has(parts.origin) ? parts.address : parts.origin);
    },
    leftOpen(url) {
      const parts = partsOf(url);
      if (parts !== null && open.size < MOST) open.set(parts.address, (open.get(parts.address) ?? 0) + 1);
    },
    staysOpen(url) {
      const parts = open.size === 0 ? null : partsOf(url);
      return parts !== null && (open.get(parts.address) ?? 0) >= LEFT_OPEN_MAX;
    },
    isSilent(url) {
      const parts = silent.size === 0 ? null : partsOf(url);
      return parts !== null && (silent.has(parts.origin) || silent.has(parts.address));
    },
    isSilentHost(url) {
      const parts = silent.size === 0 ? null : partsOf(url);
      return parts !== null && silent.has(parts.origin);
    },
    blockedOn: (page) =>
      [...silent]
        .filter((entry) => entry !== page.origin && entry !== page.origin + page.pathname)
        .map((entry) => (URL.canParse(entry) && new URL(entry).origin === entry ? `${entry}/*` : `${entry}*`)),
  };
}
