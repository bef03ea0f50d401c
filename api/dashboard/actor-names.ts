/** Names of the actors of audit log entries, scans and other changes: people by their addresses, API keys by their names. */
import { keyIdOf } from '../../core/accounts.ts';
import type { ScopedStores } from '../accounts/scoped-stores.ts';

/** Returns the name of an actor for people. */
export type ActorNames = (actor: string) => string;

/** Reads the names of the API keys among the actors of a page, in at most one command. */
export async function actorNames<T>(
  { keys }: Pick<ScopedStores, 'keys'>,
  items: readonly T[],
  actorOf: (item: T) => string | undefined,
): Promise<ActorNames> {
  const ids = new Set(items.flatMap((item) => keyIdOf(actorOf(item) ?? '') ?? []));
  const names = ids.size === 0 ? new Map<string, string>() : await keys.names([...ids]);
  return (actor) => {
    const id = keyIdOf(actor);
    if (id === null) return actor === 'manifest' ? 'Manifest' : actor;
    return `API key ${names.get(id) ?? id}`;
  };
}
