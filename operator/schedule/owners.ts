/** Which organisation is charged for a namespace. Remembered for a moment, because a thousand schedules may be due together. */
import type { Organisation } from '../../core/organisation.ts';
import type { Organisations } from '../../stores/accounts/organisations.ts';
import type { NamespaceOwner } from './policy/facts.ts';

export interface NamespaceOwners {
  /** Never throws: if MongoDB is down, it returns the last answer, because a scan checks its organisation again. */
  of(namespace: string): Promise<NamespaceOwner>;
  /** Reads all organisations. @returns those of `namespaces` whose owner differs from the last answer of `of` or of the last refresh */
  refresh(namespaces: Iterable<string>): Promise<string[]>;
}

/** The time for which an answer is used again, in milliseconds. */
const FRESH_MS = 2_000;

const ownerOf = (organisation: Organisation | null): NamespaceOwner =>
  organisation === null ? { state: 'none' } : { state: 'owned', organisation: organisation.id, blocked: organisation.blocked };

const isSame = (a: NamespaceOwner, b: NamespaceOwner): boolean => JSON.stringify(a) === JSON.stringify(b);

export function createNamespaceOwners(
  organisations: Pick<Organisations, 'findByNamespace' | 'list'>,
  monotonic: () => number,
): NamespaceOwners {
  const known = new Map<string, { owner: Promise<NamespaceOwner>; at: number }>();
  /** The owners at the last refresh. `of` may have told only some callers of a change since. */
  let refreshed = new Map<string, NamespaceOwner>();

  async function ask(namespace: string, last: Promise<NamespaceOwner> | undefined): Promise<NamespaceOwner> {
    try {
      return ownerOf(await organisations.findByNamespace(namespace));
    } catch {
      // The periodic refresh fails too, and logs the error.
      return last ?? { state: 'unknown' };
    }
  }

  return {
    of(namespace) {
      const last = known.get(namespace);
      if (last !== undefined && monotonic() - last.at < FRESH_MS) return last.owner;
      const owner = ask(namespace, last?.owner);
      known.set(namespace, { owner, at: monotonic() });
      return owner;
    },
    async refresh(namespaces) {
      const owners = new Map<string, NamespaceOwner>();
      for (const organisation of await organisations.list())
        for (const namespace of organisation.namespaces) owners.set(namespace, ownerOf(organisation));
      const changed: string[] = [];
      const current = new Map<string, NamespaceOwner>();
      for (const namespace of new Set(namespaces)) {
        const owner = owners.get(namespace) ?? ownerOf(null);
        current.set(namespace, owner);
        const last = known.get(namespace);
        const before = refreshed.get(namespace);
        if (last !== undefined && isSame(await last.owner, owner) && (before === undefined || isSame(before, owner))) continue;
        known.set(namespace, { owner: Promise.resolve(owner), at: monotonic() });
        changed.push(namespace);
      }
      refreshed = current;
      return changed;
    },
  };
}
