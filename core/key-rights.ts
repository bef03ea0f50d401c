/** What an actor can pass on to an API key that it creates: never more than it has. Pure. */
import { isTest, KEY_SCOPES, mayCall, type Actor, type KeyScope } from './accounts.ts';

export interface WantedRights {
  /** Absent: all that the actor has. */
  scopes?: readonly KeyScope[];
  /** Null: as late as possible. */
  expiresAt: Date | null;
  /** A test key. Absent: if the actor is one. */
  test?: boolean;
}

export type KeyRights =
  | { ok: true; scopes: readonly KeyScope[]; expiresAt: Date | null; test: boolean }
  /** The actor lacks the scope. */
  | { ok: false; reason: 'missing_scope'; scope: KeyScope }
  | { ok: false; reason: 'expired' }
  /** A test key creates only test keys. */
  | { ok: false; reason: 'test_only' }
  /** The key that creates it expires before, at `end`. */
  | { ok: false; reason: 'outlives_creator'; end: Date };

/** Decides about the scopes, the end and the kind of a new key. A key that a key creates ends with it at the latest; users have no end. */
export function rightsOfNewKey(actor: Actor, { scopes, expiresAt, test = isTest(actor) }: WantedRights, now: Date): KeyRights {
  if (expiresAt !== null && expiresAt <= now) return { ok: false, reason: 'expired' };
  if (isTest(actor) && !test) return { ok: false, reason: 'test_only' };
  const end = actor.kind === 'key' ? actor.expiresAt : null;
  if (end !== null && expiresAt !== null && expiresAt > end) return { ok: false, reason: 'outlives_creator', end };
  const missing = scopes?.find((scope) => !mayCall({ actor }, scope));
  if (missing !== undefined) return { ok: false, reason: 'missing_scope', scope: missing };
  return { ok: true, scopes: scopes ?? KEY_SCOPES.filter((scope) => mayCall({ actor }, scope)), expiresAt: expiresAt ?? end, test };
}
