/** Roles of users, scopes of API keys, and the permissions of both. */
import type { Organisation } from './organisation.ts';

export const ROLES = ['owner', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The role of users who were added before there were roles. */
export const DEFAULT_ROLE: Role = 'owner';

/** The permissions that an API key can have. A key cannot manage members. */
export const KEY_SCOPES = [
  'scans:read',
  'scans:write',
  'scans:delete',
  'credits:read',
  'keys:write',
  'webhooks:write',
  'known-issues:write',
  'schedules:write',
] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

export const PERMISSIONS = [...KEY_SCOPES, 'members:write', 'audit:read'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** The scopes that a pipeline needs. */
export const PIPELINE_SCOPES: readonly KeyScope[] = ['scans:read', 'scans:write'];

/** The longest name of an API key, in characters. */
export const KEY_NAME_MAX = 100;

/** What requests with each scope can do, as users read it. */
export const SCOPE_MEANINGS: Readonly<Record<KeyScope, string>> = {
  'scans:read': 'List scans, follow their progress and download their reports.',
  'scans:write': 'Submit and cancel scans. Each tested page costs one credit.',
  'scans:delete': 'Delete scans with their reports, for good.',
  'credits:read': 'Read the credit balance and its ledger.',
  'keys:write': 'Create, list and revoke API keys.',
  'webhooks:write': 'Create, list, change and delete webhooks, and read what was delivered.',
  'known-issues:write': 'Accept violations as known issues, and change and remove these.',
  'schedules:write': 'Create, change, run and delete schedules. They go on when the key ends.',
};

/** The permissions of each role. Each role has those of the role after it. */
const ROLE_PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  owner: PERMISSIONS,
  member: ['scans:read', 'scans:write', 'scans:delete', 'credits:read', 'keys:write', 'webhooks:write', 'schedules:write'],
  viewer: ['scans:read', 'credits:read'],
};

export function permissionsOf(role: Role): readonly Permission[] {
  return ROLE_PERMISSIONS[role];
}

/** Who acts for an organisation: a live API key, or a user who is signed in. */
export type Actor = KeyActor | { kind: 'user'; email: string; role: Role; sessionId: string };

export interface KeyActor {
  kind: 'key';
  keyId: string;
  scopes: readonly KeyScope[];
  /** Null: the key does not expire. */
  expiresAt: Date | null;
  /** See `KeyCreator`. */
  rootCreator: string;
  /** See `KeyCreator`. */
  cap?: Role;
  /** A test key: it submits only scans of test targets, and changes nothing else. */
  test: boolean;
}

/** The sender of a request. */
export interface Caller {
  organisation: Organisation;
  actor: Actor;
}

/** Returns whether the caller may do what requires the permission. */
export function mayCall({ actor }: Pick<Caller, 'actor'>, permission: Permission): boolean {
  const granted: readonly Permission[] = actor.kind === 'key' ? actor.scopes : permissionsOf(actor.role);
  return granted.includes(permission);
}

export const isTest = (actor: Actor): boolean => actor.kind === 'key' && actor.test;

/** The actor as the audit log names it: `key:<id>`, or the e-mail address. */
export function auditName(actor: Actor): string {
  return actor.kind === 'key' ? `key:${actor.keyId}` : actor.email;
}

/** The ID of the API key that an actor of the audit log is; null if it is no key. */
export const keyIdOf = (name: string): string | null => (name.startsWith('key:') ? name.slice(4) : null);

/** Who created an API key, as the audit log names actors. */
export interface KeyCreator {
  createdBy: string;
  /**
   * The first creator of a chain of keys that created each other, which is `createdBy` if that is no key, or who adopted a key. What a
   * person leaves behind has the person as the root creator: no key of the chain remains.
   */
  rootCreator: string;
  /** The role that bounds the key that creates a key: its root creator may have left, or may leave meanwhile. */
  cap?: Role;
}

export function keyCreator(actor: Actor): KeyCreator {
  const createdBy = auditName(actor);
  if (actor.kind === 'user') return { createdBy, rootCreator: createdBy };
  return { createdBy, rootCreator: actor.rootCreator, ...(actor.cap !== undefined && { cap: actor.cap }) };
}

/** What an actor can pass on to an API key that it creates: never more than it has. Pure. */
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
