/**
 * The networks of client addresses, and which peers are trusted proxies. Every limit that counts clients by their network uses
 * these functions, so that no spelling of an address counts as another client.
 */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The network of everything that is no address. There is one, so that garbage in X-Forwarded-For makes no new networks. */
const UNKNOWN = 'unknown';

/**
 * The address in an item of X-Forwarded-For or of a socket. Proxies add ports (`192.0.2.1:4711`, `[2001:db8::1]:4711`), quotes
 * and zones (`fe80::1%eth0`). An IPv4-mapped IPv6 address is the IPv4 address.
 */
function parse(item: string): Address | null {
  const bare = item.trim().replace(/^"(.*)"$/, '$1');
  const [, inBrackets, withPort] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(bare) ?? [];
  const text = (inBrackets ?? withPort ?? bare).replace(/%.*$/, '');
  // Not ipaddr.isValid: it also accepts octal and shortened forms of IPv4, which no proxy writes.
  const valid = text.includes(':') ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
  return valid ? ipaddr.process(text) : null;
}

/** The address without port, brackets and zone, as `192.0.2.1` or `2001:db8::1`; `unknown` if it is none. */
export const addressOf = (item: string): string => parse(item)?.toString() ?? UNKNOWN;

/** Narrowest first: an IPv4 address and its /24; the /64, /56 and /48 of an IPv6 address. */
export function networksOf(item: string): [string, ...string[]] {
  const address = parse(item);
  if (address === null) return [UNKNOWN];
  if (address instanceof ipaddr.IPv4) return [address.toString(), `${address.octets.slice(0, 3).join('.')}.0/24`];
  const [a, b, c, d] = address.parts as [number, number, number, number];
  const prefix = (last: number, bits: number): string => `${[a, b, c, last].map((part) => part.toString(16)).join(':')}::/${bits}`;
  return [prefix(d, 64), prefix(d & 0xff00, 56), prefix(0, 48)];
}

/** The network that one client has: an IPv4 address, or the /64 of an IPv6 address. */
export const networkOf = (item: string): string => networksOf(item)[0];

/** @param proxies addresses and CIDRs @returns whether an address is one of them */
export function createTrust(proxies: readonly string[]): (item?: string) => boolean {
  const ranges = proxies.map((proxy): [Address, number] => {
    if (proxy.includes('/')) return ipaddr.parseCIDR(proxy);
    const address = ipaddr.process(proxy);
    return [address, address instanceof ipaddr.IPv4 ? 32 : 128];
  });
  // Fastify passes undefined for a client that is gone.
  return (item = '') => {
    const address = parse(item);
    return address !== null && ranges.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
  };
}

/**
 * The network of a client as the audit log names it: the /24 of an IPv4 address, or the /64 of an IPv6 address. Enough to recognise a
 * provider or an office, and less than the address of a person.
 */
export function auditNetwork(address: string): string {
  const [own, wider] = networksOf(address);
  return own.includes(':') ? own : (wider ?? own);
}
