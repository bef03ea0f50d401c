/** Tells a cluster whose name servers cannot be reached, mostly because of a NetworkPolicy, from dependencies that are down. */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { addressesIn } from './resolver.ts';
import { withTimeLimit } from './time-limits.ts';

/** Codes of c-ares for an answer of a name server that has no address. */
const ANSWERS = new Set(['ENOTFOUND', 'ENODATA', 'EFORMERR', 'ESERVFAIL', 'ENOTIMP', 'EREFUSED']);
/** Shorter than the time limit of a check of dependencies, whose message would not name the cause. */
const WITHIN_MS = 1_500;

/** How to ask for a name. Tests replace them. */
export interface NameLookups {
  /** Asks the name servers. Rejects with a `code` of c-ares. */
  nameServers(hostname: string): Promise<unknown>;
  /** The text of the hosts file. */
  hostsFile(): Promise<string>;
}

/** No name server answers. */
export class NameServersUnreachable extends Error {
  constructor(hostnames: readonly string[]) {
    super(
      `No name server answers for ${hostnames.join(', ')}. If a NetworkPolicy blocks DNS, set networkPolicy.dns of the chart to the name servers of this cluster (docs/chart.md, Networks).`,
    );
    this.name = 'NameServersUnreachable';
  }
}

/** The host names in addresses such as URLs, without IP addresses and names of this machine. */
export function hostNamesIn(addresses: readonly (string | undefined)[]): string[] {
  const hosts = addresses.flatMap((address = '') => {
    const [, authority = ''] = /^[^:/]+:\/\/(?:[^@/?]*@)?([^/?]*)/.exec(address) ?? [];
    return authority.split(',').map((host) => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
  });
  return [...new Set(hosts.filter((host) => host !== '' && host !== 'localhost' && isIP(host) === 0))];
}

/**
 * Returns a check that succeeds if a name server answers for any of the names, whatever it answers. It asks the name servers by
 * themselves, because `getaddrinfo` would block a thread for each question that gets no answer.
 * @returns a function that throws NameServersUnreachable
 */
export function createNameServerCheck(hostnames: readonly string[], lookups: NameLookups = systemLookups()): () => Promise<void> {
  const ask = (hostname: string): Promise<unknown> =>
    lookups.nameServers(hostname).catch((error: unknown) => {
      if (!ANSWERS.has(String((error as { code?: unknown }).code))) throw error;
    });
  return async () => {
    try {
      await withTimeLimit(Promise.any(hostnames.map(ask)), WITHIN_MS, 'DNS lookup');
    } catch {
      const text = await lookups.hostsFile();
      if (!hostnames.some((hostname) => addressesIn(text, hostname).length > 0)) throw new NameServersUnreachable(hostnames);
    }
  };
}

function systemLookups(): NameLookups {
  const client = new Resolver({ timeout: WITHIN_MS, tries: 1 });
  return {
    nameServers: (hostname) => client.resolve4(hostname),
    // Without a hosts file, no name is listed.
    hostsFile: () => readFile('/etc/hosts', 'utf8').catch(() => ''),
  };
}
