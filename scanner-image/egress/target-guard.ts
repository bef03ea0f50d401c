/** Resolves a host once and says which of its addresses may be dialled; everything that leaves the scanner asks here first. */
import { lookup } from 'node:dns/promises';
import { judgeResolved, judgeUrl, literalAddress, portOf, type TargetRefusal, type TargetRules } from '../../core/scan/targets.ts';

/** What was found of a target: the addresses that may be dialled, or why none may. */
export type Vetted = { allowed: true; addresses: readonly string[] } | { allowed: false; reason: TargetRefusal; message: string };

/** Gives all addresses of a host name. @throws where there are none */
export type Resolve = (hostname: string) => Promise<string[]>;

export interface Vetting {
  /** Vets a URL's host and port. Never throws: a name that cannot be resolved is a refusal. */
  vet(url: URL): Promise<Vetted>;
}

/** The system's own look-up, every address in the resolver's order. */
export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);

/**
 * Vetting with a memory: the answer for a host and port is kept, so that what was vetted is what is dialled and a name
 * that changes its mind (DNS rebinding) is vetted again before its new address is used.
 * @param options.rememberMs how long an answer holds; a name that could not be resolved is asked for again after a tenth of it
 */
export function createVetting(options: { rules: TargetRules; resolve?: Resolve; rememberMs?: number; now?: () => number }): Vetting {
  const { rules, resolve = systemResolve, rememberMs = 60_000, now = Date.now } = options;
  const known = new Map<string, { until: number; answer: Promise<Vetted> }>();

  async function ask(url: URL): Promise<Vetted> {
    const judged = judgeUrl(url, rules);
    if (!judged.allowed) return judged;
    const literal = literalAddress(url.hostname);
    if (literal !== null) return { allowed: true, addresses: [literal] };
    let addresses: string[];
    try {
      addresses = await resolve(url.hostname);
    } catch {
      addresses = [];
    }
    if (addresses.length === 0) return { allowed: false, reason: 'unresolvable', message: `${url.hostname} cannot be resolved.` };
    const resolved = judgeResolved(url, addresses, rules);
    return resolved.allowed ? { allowed: true, addresses } : resolved;
  }

  return {
    vet(url) {
      const key = `${url.protocol}//${url.username === '' && url.password === '' ? '' : '@'}${url.hostname}:${portOf(url)}`;
      const remembered = known.get(key);
      if (remembered !== undefined && remembered.until > now()) return remembered.answer;
      if (known.size > 5000) known.clear(); // a page that makes names up must not fill the memory
      const entry = { until: now() + rememberMs, answer: ask(url) };
      known.set(key, entry);
      void entry.answer.then((answer) => {
        if (!answer.allowed && answer.reason === 'unresolvable') entry.until = now() + rememberMs / 10;
      });
      return entry.answer;
    },
  };
}
