/** Which URLs and addresses a scan may reach (decisions "Errors" and "Limits"; field rules for addresses). Pure: names are resolved elsewhere. */
import ipaddr from 'ipaddr.js';

/** Why a target is refused; each is the tail of a validation error's `type` (`url.private_address`, …). */
export type TargetRefusal = 'private_address' | 'scheme' | 'credentials' | 'port' | 'unresolvable';

/** The longest URL that is taken, in characters. */
export const URL_MAX_LENGTH = 2048;

/** What an operator lets through although it is private, and refuses although it looks public. */
export interface TargetRules {
  /** CIDRs, host names or `address:port` (also `name:port`). */
  allow: readonly string[];
  /** CIDRs. */
  deny: readonly string[];
}

export type UrlJudgement = { allowed: true; url: URL } | { allowed: false; reason: TargetRefusal; message: string };
export type AddressJudgement = { allowed: true } | { allowed: false; reason: TargetRefusal; message: string };

/** Public addresses that are no public hosts: Azure's metadata service. */
const NEVER = ['168.63.129.16/32'];
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'svc', 'cluster.local', 'home.arpa', 'onion'];

const inRange = (address: ipaddr.IPv4 | ipaddr.IPv6, cidr: string): boolean => {
  const [range, bits] = cidr.includes('/') ? ipaddr.parseCIDR(cidr) : withFullLength(ipaddr.parse(cidr));
  return range.kind() === address.kind() && address.match(range, bits);
};
const withFullLength = (address: ipaddr.IPv4 | ipaddr.IPv6): [ipaddr.IPv4 | ipaddr.IPv6, number] => [
  address,
  address.kind() === 'ipv4' ? 32 : 128,
];
const isCidr = (rule: string): boolean => ipaddr.isValid(rule) || ipaddr.isValidCIDR(rule);

/** The host of a URL as an address, if it is one (without the brackets of IPv6); canonical, for `new URL` has folded every spelling. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? bare : null;
}

/** True if a rule of `allow` names this host (exactly) or host and port. */
function namedByRule(hostname: string, port: number, allow: readonly string[]): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return allow.some((rule) => {
    const wanted = rule.toLowerCase();
    return wanted === bare || wanted === `${bare}:${port}` || wanted === `[${bare}]:${port}`;
  });
}

/** The port that a URL means. */
export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

/** Judges what can be judged of a URL before its name is resolved. `url` must already be a URL (syntax errors are the schema's). */
export function judgeUrl(url: URL, rules: TargetRules): UrlJudgement {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refuse('scheme', `Only http and https URLs can be scanned, not ${url.protocol.replace(':', '')}.`);
  if (url.username !== '' || url.password !== '') return refuse('credentials', 'The URL must not contain a user name or password.');
  const port = portOf(url);
  if (namedByRule(url.hostname, port, rules.allow)) return { allowed: true, url };
  if (port !== 80 && port !== 443 && port < 1024) return refuse('port', `Port ${port} cannot be scanned; use 80, 443, or 1024 and up.`);
  const address = literalAddress(url.hostname);
  if (address !== null) {
    const judged = judgeAddress(address, port, rules);
    return judged.allowed ? { allowed: true, url } : judged;
  }
  const name = url.hostname.toLowerCase().replace(/\.$/, '');
  if (!name.includes('.') || PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`))) {
    // A private name may still be let through by the address that it resolves to: a developer's own machine.
    if (rules.allow.some(isCidr)) return { allowed: true, url };
    return refuse('private_address', `${url.hostname} is a private name; only publicly reachable hosts can be scanned.`);
  }
  return { allowed: true, url };
}

/** Judges an address that a name resolved to, or that a URL spells out. */
export function judgeAddress(address: string, port: number, rules: TargetRules): AddressJudgement {
  if (!ipaddr.isValid(address)) return refuse('unresolvable', `${address} is not an IP address.`);
  const parsed = ipaddr.process(address);
  if (rules.allow.some((rule) => (isCidr(rule) ? inRange(parsed, rule) : namedByRule(address, port, [rule])))) return { allowed: true };
  const refused = refuse(
    'private_address',
    `${address} is a private, loopback or otherwise reserved address; only publicly reachable hosts can be scanned.`,
  );
  if (parsed.range() !== 'unicast') return refused;
  if (parsed.kind() === 'ipv6' && !inRange(parsed, '2000::/3')) return refused;
  if ([...NEVER, ...rules.deny].some((cidr) => inRange(parsed, cidr))) return refused;
  return { allowed: true };
}

/**
 * Judges all addresses that a name resolved to. Every one must be allowed, for nobody can say which will be dialled
 * by whoever resolves next. A name that the operator lists is let through whatever it resolves to.
 */
export function judgeResolved(url: URL, addresses: readonly string[], rules: TargetRules): AddressJudgement {
  const port = portOf(url);
  if (namedByRule(url.hostname, port, rules.allow)) return { allowed: true };
  if (addresses.length === 0) return refuse('unresolvable', `${url.hostname} cannot be resolved.`);
  for (const address of addresses) {
    const judged = judgeAddress(address, port, rules);
    if (!judged.allowed)
      return {
        ...judged,
        message: `${url.hostname} resolves to ${address}, a private, loopback or otherwise reserved address; only publicly reachable hosts can be scanned.`,
      };
  }
  return { allowed: true };
}

function refuse(reason: TargetRefusal, message: string): { allowed: false; reason: TargetRefusal; message: string } {
  return { allowed: false, reason, message };
}
