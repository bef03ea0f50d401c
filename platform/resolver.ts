/** Resolves the host names of scan targets within a time limit. The API, the operator and the scanner judge the addresses. */
import { readFile } from 'node:fs/promises';
import { lookup as systemLookup, Resolver as NameServerClient } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Resolution, Resolver } from '../core/scan/targets.ts';
import { withTimeLimit } from './time-limits.ts';

/** The ways to look up a name. Tests replace them. */
export interface Lookups {
  /** Queries the name servers for one address family. Rejects with a `code` of c-ares. */
  nameServers(hostname: string, family: 4 | 6): Promise<string[]>;
  /** Returns the addresses that the hosts file lists for a name. */
  hostsFile(hostname: string): Promise<string[]>;
  /** Queries the system's resolver, which reads the hosts file and tries search domains. Rejects with a `code` of getaddrinfo. */
  system(hostname: string): Promise<string[]>;
}

const HOSTS_FILE = '/etc/hosts';
/** Longer than two tries of one name server, shorter than the API's limit for a dependency. */
const RESOLVE_WITHIN_MS = 5_000;
/** Codes of c-ares if the name servers do not know the name. */
const DEFINITE = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME']);
/** Codes of getaddrinfo for a name that does not exist or has no address. */
const UNKNOWN_NAME = new Set(['ENOTFOUND', 'ENODATA']);

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/**
 * Creates a resolver that queries the name servers for the name as it is, without search domains. In a pod, those would let any
 * caller find out the Services of the cluster. The hosts file is read for names that the name servers do not resolve. The system's
 * resolver is used only for names that the installation's configuration lists, because these may need search domains. They are few,
 * so that `getaddrinfo` does not block the few threads that the whole process shares.
 */
export function createResolver(options: { lookups?: Lookups; withinMs?: number } = {}): Resolver {
  const { lookups = systemLookups(), withinMs = RESOLVE_WITHIN_MS } = options;

  async function resolve(bare: string): Promise<Resolution> {
    const answers = await Promise.allSettled([lookups.nameServers(bare, 4), lookups.nameServers(bare, 6)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return { ok: true, addresses };
    const listed = await lookups.hostsFile(bare);
    if (listed.length > 0) return { ok: true, addresses: listed };
    const definite = answers.every((answer) => answer.status === 'fulfilled' || DEFINITE.has(codeOf(answer.reason)));
    return { ok: false, reason: definite ? 'not_found' : 'unavailable' };
  }

  async function resolveBySystem(bare: string): Promise<Resolution> {
    try {
      const found = await lookups.system(bare);
      return found.length > 0 ? { ok: true, addresses: found } : { ok: false, reason: 'not_found' };
    } catch (error) {
      return { ok: false, reason: UNKNOWN_NAME.has(codeOf(error)) ? 'not_found' : 'unavailable' };
    }
  }

  return {
    resolve(hostname, { configured } = { configured: false }) {
      const bare = hostname.replace(/\.$/, '');
      const resolution = configured ? resolveBySystem(bare) : resolve(bare);
      // A rejection can only be the time limit.
      return withTimeLimit(resolution, withinMs, `DNS lookup of ${hostname}`).catch(() => ({ ok: false, reason: 'unavailable' }));
    },
  };
}

function systemLookups(): Lookups {
  const client = new NameServerClient({ timeout: 1_500, tries: 2 });
  return {
    nameServers: (hostname, family) => (family === 4 ? client.resolve4(hostname) : client.resolve6(hostname)),
    async hostsFile(hostname) {
      // Without a hosts file, no name is listed.
      const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '');
      return addressesIn(text, hostname);
    },
    system: async (hostname) => (await systemLookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address),
  };
}

/** Returns the addresses of a name in the text of a hosts file (hosts(5)). */
export function addressesIn(hostsFile: string, hostname: string): string[] {
  return hostsFile.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    return names.some((name) => name.toLowerCase() === hostname.toLowerCase()) ? [address] : [];
  });
}

/**
 * A lookup function for Node's sockets that returns exactly the allowed addresses. A name is never resolved again, because its addresses
 * may have changed. Node's Happy Eyeballs chooses among them.
 */
export function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const first = all[0];
    if (first === undefined) callback(Object.assign(new Error('no allowed address'), { code: 'ENOTFOUND' }), '', 0);
    else if (options.all) callback(null, all);
    else callback(null, first.address, first.family);
  };
}
