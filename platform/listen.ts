/** Addresses to listen on, of both families. */
import { createServer } from 'node:net';

/** All interfaces of both families. */
export const ANY_ADDRESS = '::';

/**
 * Returns the address to listen on: a system whose kernel has no IPv6 cannot listen on `::`, and all interfaces are `0.0.0.0` there.
 * Node.js does the same for a server without an address, which not every library can start.
 */
export async function listenAddress(host: string): Promise<string> {
  if (host !== ANY_ADDRESS) return host;
  const probe = createServer();
  const hasIPv6 = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false)).listen({ port: 0, host: ANY_ADDRESS }, () => resolve(true));
  });
  if (hasIPv6) await new Promise((resolve) => probe.close(resolve));
  return hasIPv6 ? host : '0.0.0.0';
}

/** A host as URLs contain it: an IPv6 address is in brackets. */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** An address of this machine at which a server answers that listens on `host`. */
export const ownAddress = (host: string): string => (host === ANY_ADDRESS ? '::1' : host === '0.0.0.0' ? '127.0.0.1' : host);
