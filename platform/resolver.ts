/** Resolves the host of a target, so that a private one is refused with a good message. The scanner's own guard is the boundary. */
import { lookup as systemLookup, Resolver as AsyncResolver } from 'node:dns/promises';

export interface Resolver {
  /** All addresses of a name; none where it has none or nobody can tell. Never throws. */
  resolve(hostname: string): Promise<string[]>;
}

/** How names are looked up; the system's own unless a test says otherwise. */
export interface LookUps {
  /** Asks name servers. Rejects with a `code` of c-ares. */
  ask(hostname: string, family: 4 | 6): Promise<string[]>;
  /** Asks as every program of this machine does, its hosts file included. */
  system(hostname: string): Promise<string[]>;
}

/** Answers that come at once and mean that name servers do not know the name, or that there are none. */
const DEFINITE = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME', 'ENONAME']);

/**
 * Name servers first, with short deadlines of their own; the system's resolver only where they know nothing, for the
 * names of a hosts file. Not the other way round: `getaddrinfo` has two threads for the whole process, and a few slow
 * names of one caller would keep our own connections from being opened.
 */
export function createResolver(lookUps: LookUps = systemLookUps()): Resolver {
  return {
    async resolve(hostname) {
      const bare = hostname.replace(/\.$/, '');
      const answers = await Promise.allSettled([lookUps.ask(bare, 4), lookUps.ask(bare, 6)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length > 0) return addresses;
      const unknown = answers.every(
        (answer) => answer.status === 'fulfilled' || DEFINITE.has(String((answer.reason as { code?: unknown } | null)?.code)),
      );
      if (!unknown) return [];
      try {
        return await lookUps.system(bare);
      } catch {
        return [];
      }
    },
  };
}

function systemLookUps(): LookUps {
  const resolver = new AsyncResolver({ timeout: 1500, tries: 2 });
  return {
    ask: (hostname, family) => (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname)),
    system: async (hostname) => (await systemLookup(hostname, { all: true })).map(({ address }) => address),
  };
}
