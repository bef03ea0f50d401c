/** Addresses as people type them. The REST API and manifests take complete URLs only. Pure. */
import type { ScanOptions } from './options.ts';

const HTTPS = 'https://';

/** A scheme, and neither a host with a port nor a user with a password. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d|[^/]*@)/i;

/**
 * Reads an address that a person typed. Without a scheme it gets `https://`, as in a browser, and the scan may fall back to
 * `http://`. Nothing else is checked.
 */
export function readAddress(typed: string): Pick<ScanOptions, 'url'> & Partial<Pick<ScanOptions, 'httpFallback'>> {
  return typed === '' || SCHEME.test(typed) ? { url: typed } : { url: HTTPS + typed, httpFallback: true };
}

/** Returns an address to type so that `readAddress` reads the options of an earlier scan again. */
export function addressToType({ url, httpFallback }: Pick<ScanOptions, 'url' | 'httpFallback'>): string {
  return httpFallback && url.startsWith(HTTPS) ? url.slice(HTTPS.length) : url;
}
