/** Addresses as people type them. The REST API and manifests take complete URLs only. Pure. */
import type { ScanOptions } from './options.ts';

/** A scheme, and not a host with a port. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d)/i;

/**
 * Reads an address that a person typed. Without a scheme it gets `https://`, as in a browser, and the scan may fall back to
 * `http://`. Nothing else is checked.
 */
export function readAddress(typed: string): Pick<ScanOptions, 'url'> & Partial<Pick<ScanOptions, 'httpFallback'>> {
  return typed === '' || SCHEME.test(typed) ? { url: typed } : { url: `https://${typed}`, httpFallback: true };
}
