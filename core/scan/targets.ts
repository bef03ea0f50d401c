/** Which URLs and addresses a scan may reach (decisions, "Errors" and "Limits"). Pure: the resolver is passed in. */
import ipaddr from 'ipaddr.js';

/**
 * Why a target is refused: by the address rule, or because its name has no address (`unresolvable`), or because name
 * servers did not answer in time (`dns_unavailable`).
 */
export type TargetRefusal = 'private_address' | 'scheme' | 'credentials' | 'port' | 'unresolvable' | 'dns_unavailable';

/** Why a URL cannot be the start of a scan. */
export type ScanUrlRefusal = TargetRefusal | 'not_a_url' | 'too_long';

/** The longest URL that can be scanned, in characters. */
export const URL_MAX_LENGTH = 2048;

/** Exceptions from the address rule, configured per installation (`ALLOW_TARGETS`, `DENY_TARGETS`). */
export interface TargetRules {
  /** CIDRs, host names or `address:port` (also `name:port`). */
  allow: readonly string[];
  /** CIDRs. */
  deny: readonly string[];
}

/** The addresses of a host, or why it could not be resolved. */
export type Resolution = { ok: true; addresses: string[] } | { ok: false; reason: 'not_found' | 'unavailable' };

export interface Resolver {
  /**
   * Resolves a host name to all its addresses, within a bounded time. Never rejects.
   * @param options.configured the installation's configuration names this host, so it may need the search domains of the
   * system, such as a Service name. Other names are absolute
   */
  resolve(hostname: string, options?: { configured: boolean }): Promise<Resolution>;
}

export type TargetJudgement =
  /** `addresses`: every vetted address, in the resolver's order; empty only if a rule names the host and it cannot be resolved. */
  { ok: true; addresses: readonly string[] } | { ok: false; reason: TargetRefusal; message: string };

export type ScanUrlJudgement =
  /** `href`: the URL as a browser writes it; this is what was judged and must be scanned. */
  { ok: true; href: string } | { ok: false; reason: ScanUrlRefusal; message: string };

type Verdict = { ok: true } | { ok: false; reason: TargetRefusal; message: string };

/** Public addresses that never belong to a site: Azure's metadata service. */
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

/** The host of a URL as an address without the brackets of IPv6, or null. It is canonical because `new URL` folds every spelling. */
function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? bare : null;
}

/** Whether a rule of `allow` names exactly this host, or this host and port. */
export function namedByRule(hostname: string, port: number, allow: readonly string[]): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return allow.some((rule) => {
    const wanted = rule.toLowerCase();
    return wanted === bare || wanted === `${bare}:${port}` || wanted === `[${bare}]:${port}`;
  });
}

/** The port of a URL, explicit or by its scheme. */
export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

/**
 * Judges the URL that a scan starts at: its syntax and length, then its target.
 * @param text as it was submitted; escaping can make it longer
 */
export async function judgeScanUrl(text: string, rules: TargetRules, resolver: Resolver): Promise<ScanUrlJudgement> {
  if (!URL.canParse(text)) return { ok: false, reason: 'not_a_url', message: `${JSON.stringify(text)} is not a URL.` };
  const url = new URL(text);
  if (url.href.length > URL_MAX_LENGTH)
    return { ok: false, reason: 'too_long', message: `The URL must have at most ${URL_MAX_LENGTH} characters after escaping.` };
  const judged = await judgeTarget(url, rules, resolver);
  return judged.ok ? { ok: true, href: url.href } : judged;
}

/** A URL on an entry of `crawl.hosts`, over the scheme of the scan. The entry `*.example.org` gives one of its hosts. */
export const urlOnHost = (host: string, start: string): string => `${new URL(start).protocol}//${host.replace('*', 'any')}/`;

/**
 * Judges the URL and the further hosts of a scan. Of all hosts below a domain only the name is judged: the scan judges the addresses of each
 * when it connects.
 * @returns with a refusal of a further host, its index
 */
export async function judgeScan(
  { url, hosts }: { url: string; hosts: readonly string[] },
  rules: TargetRules,
  resolver: Resolver,
): Promise<ScanUrlJudgement & { host?: number }> {
  const own = await judgeScanUrl(url, rules, resolver);
  if (!own.ok) return own;
  const judged = await Promise.all(
    hosts.map(async (entry, host) => {
      const text = urlOnHost(entry, url);
      const below = entry.startsWith('*') && URL.canParse(text);
      return { host, ...(below ? judgeUrl(new URL(text), rules) : await judgeScanUrl(text, rules, resolver)) };
    }),
  );
  return judged.find((one) => !one.ok) ?? own;
}

/**
 * Judges the host and port of a URL: first the URL itself, then every address that its name resolves to. All of them must
 * be allowed, because a later lookup may return any of them. A host that a rule of `allow` names is allowed, regardless
 * of its addresses.
 */
export async function judgeTarget(url: URL, rules: TargetRules, resolver: Resolver): Promise<TargetJudgement> {
  const judged = judgeUrl(url, rules);
  if (!judged.ok) return judged;
  const literal = literalAddress(url.hostname);
  if (literal !== null) return { ok: true, addresses: [literal] };
  const configured = namedByRule(url.hostname, portOf(url), rules.allow);
  const resolution = await resolver.resolve(url.hostname, { configured });
  const addresses = resolution.ok ? resolution.addresses : [];
  if (configured) return { ok: true, addresses };
  // The messages name no address, so that callers cannot map a private network.
  const unresolvable = `${url.hostname} cannot be resolved.`;
  if (addresses.length === 0) {
    const reason = !resolution.ok && resolution.reason === 'unavailable' ? 'dns_unavailable' : 'unresolvable';
    return refuse(reason, unresolvable);
  }
  for (const address of addresses) {
    const one = judgeAddress(address, portOf(url), rules);
    if (!one.ok) return refuse(one.reason, one.reason === 'unresolvable' ? unresolvable : `${url.hostname} resolves to ${RESERVED}`);
  }
  return { ok: true, addresses };
}

/** Judges what can be judged of a URL before its name is resolved. */
function judgeUrl(url: URL, rules: TargetRules): Verdict {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refuse('scheme', `Only http and https URLs can be scanned, not ${url.protocol.replace(':', '')}.`);
  if (url.username !== '' || url.password !== '') return refuse('credentials', 'The URL must not contain a user name or password.');
  const port = portOf(url);
  if (namedByRule(url.hostname, port, rules.allow)) return { ok: true };
  if (port !== 80 && port !== 443 && port < 1024) return refuse('port', `Port ${port} cannot be scanned; use 80, 443, or 1024 and up.`);
  const address = literalAddress(url.hostname);
  if (address !== null) return judgeAddress(address, port, rules);
  const name = url.hostname.toLowerCase().replace(/\.$/, '');
  if (!name.includes('.') || PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`))) {
    // ALLOW_TARGETS may still allow the address that a private name resolves to, such as a developer's own machine.
    if (rules.allow.some(isCidr)) return { ok: true };
    return refuse('private_address', `${url.hostname} is a private name; only publicly reachable hosts can be scanned.`);
  }
  return { ok: true };
}

function judgeAddress(address: string, port: number, rules: TargetRules): Verdict {
  if (!ipaddr.isValid(address)) return refuse('unresolvable', `${address} is not an IP address.`);
  const parsed = ipaddr.process(address);
  if (rules.allow.some((rule) => (isCidr(rule) ? inRange(parsed, rule) : namedByRule(address, port, [rule])))) return { ok: true };
  const isPublic = parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || inRange(parsed, '2000::/3'));
  if (!isPublic || [...NEVER, ...rules.deny].some((cidr) => inRange(parsed, cidr)))
    return refuse('private_address', `${address} is ${RESERVED}`);
  return { ok: true };
}

const RESERVED = 'a private, loopback or otherwise reserved address; only publicly reachable hosts can be scanned.';

function refuse(reason: TargetRefusal, message: string): { ok: false; reason: TargetRefusal; message: string } {
  return { ok: false, reason, message };
}

/**
 * Whether a test key may scan a URL: a loopback address, or a host that the installation names for tests, such as that of the
 * demo site. The target rules apply as well, so that ALLOW_TARGETS decides about loopback.
 * @param named host names or addresses, or one of them with a port
 */
export function isTestTarget(text: string, named: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback') return true;
  return host === 'localhost' || host.endsWith('.localhost') || namedByRule(host, portOf(url), named);
}
