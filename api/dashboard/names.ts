/** How the dashboard names roles, and actors: users by their addresses, API keys by their names. */
import { keyIdOf, type Role, ROLES } from '../../core/accounts.ts';
import { m, t, tr } from '../web/texts.ts';
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
    if (id === null) return actor === 'manifest' ? t`Manifest` : actor;
    return t`API key ${names.get(id) ?? id}`;
  };
}

export const ROLE_TEXTS: Readonly<Record<Role, { name: string; may: string }>> = {
  owner: { name: m`Owner`, may: m`everything, including members and the audit log` },
  member: { name: m`Member`, may: m`starts scans, and manages schedules, API keys and webhooks` },
  viewer: { name: m`Viewer`, may: m`sees scans, schedules and credits` },
};

/** A role and what it may do. */
export const roleText = (role: Role): string => `${tr(ROLE_TEXTS[role].name)}: ${tr(ROLE_TEXTS[role].may)}`;

/** Returns the role of a form field; null if the field names no role. */
export const roleOf = (text: string): Role | null => ROLES.find((role) => role === text) ?? null;

export const NAME_MAX = 100;
