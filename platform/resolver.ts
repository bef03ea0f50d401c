/** Resolves the host names of scan targets within a time limit. The API, the operator and the scanner judge the addresses. */
import { lookup as systemLookup, Resolver as NameServerClient } from 'node:dns/promises';
import type { Resolution, Resolver } from '../core/scan/targets.ts';
import { withTimeLimit } from './time-limits.ts';

/** The two ways to look up a name. Tests replace them. */
export interface Lookups {
  /** Queries the name servers for one address family. Rejects with a `code` of c-ares. */
  nameServers(hostname: string, family: 4 | 6): Promise<string[]>;
  /** Queries the system's resolver, which reads the hosts file. Rejects with a `code` of getaddrinfo. */
  system(hostname: string): Promise<string[]>;
}

/** Longer than two tries of one name server, shorter than the API's limit for a dependency. */
const RESOLVE_WITHIN_MS = 5_000;
/** Codes of c-ares if the name servers do not know the name, or if there are no name servers. */
const DEFINITE = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME', 'ENONAME']);
/** Codes of getaddrinfo for a name that does not exist or has no address. */
const UNKNOWN_NAME = new Set(['ENOTFOUND', 'ENODATA']);

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/**
 * Creates a resolver that queries the name servers first. It uses the system's resolver only for names that they do not
 * know, because these may be in a hosts file. The order matters: `getaddrinfo` blocks one of the few threads that the whole
 * process shares, so a few slow names would delay every connection that the process opens. Names that the installation's
 * configuration lists go to the system's resolver directly: they are few, and may need its search domains.
 */
export function createResolver(options: { lookups?: Lookups; withinMs?: number } = {}): Resolver {
  const { lookups = systemLookups(), withinMs = RESOLVE_WITHIN_MS } = options;

  async function resolve(bare: string): Promise<Resolution> {
    const answers = await Promise.allSettled([lookups.nameServers(bare, 4), lookups.nameServers(bare, 6)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return { ok: true, addresses };
    const definite = answers.every((answer) => answer.status === 'fulfilled' || DEFINITE.has(codeOf(answer.reason)));
    if (!definite) return { ok: false, reason: 'unavailable' };
    return resolveBySystem(bare);
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
    system: async (hostname) => (await systemLookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address),
  };
}
