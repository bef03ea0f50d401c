/** `curbcut-admin key …`: issues, lists and revokes API keys. */
import { KEY_NAME_MAX, KEY_SCOPES, type KeyScope } from '../../core/accounts.ts';
import { readDateTime } from '../../core/date-time.ts';
import {
  ACTOR,
  CommandRefused,
  columns,
  command,
  findOrganisation,
  issueKey,
  liveKeys,
  ORGANISATION_OPTION,
  recordKey,
  type Command,
} from './command.ts';

/** Parses a date, or a date and time with a time zone. @throws CommandRefused if it is invalid or in the past */
function expiryOf(text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null;
  const date = readDateTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (date === null) throw new CommandRefused(`${text} is not a date; use a format such as 2027-01-31 or 2027-01-31T12:00:00Z.`);
  if (date <= now) throw new CommandRefused(`${text} is in the past.`);
  return date;
}

/** Parses a comma-separated list of scopes. @throws CommandRefused if one is unknown or repeated, or there is none */
function scopesOf(text: string | undefined): readonly KeyScope[] {
  if (text === undefined) return KEY_SCOPES;
  const names = text.split(',').map((name) => name.trim());
  const known: readonly string[] = KEY_SCOPES;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new CommandRefused(`"${unknown}" is not a scope; use some of ${KEY_SCOPES.join(',')}.`);
  if (new Set(names).size < names.length) throw new CommandRefused('--scopes names a scope twice.');
  return names as KeyScope[];
}

export const KEY: Record<string, Command> = {
  issue: command({
    summary: 'issues an API key and shows it once',
    options: {
      ...ORGANISATION_OPTION,
      name: { value: 'TEXT', required: true, meaning: 'what the key is for' },
      expires: { value: 'DATE', meaning: 'such as 2027-01-31 or 2027-01-31T12:00:00Z; default: never' },
      scopes: { value: 'LIST', meaning: `some of ${KEY_SCOPES.join(',')}; default: all` },
      test: { meaning: 'a test key: it scans only the demo site and loopback addresses, and costs nothing' },
    },
    async run({ values }, context) {
      const { name, test } = values;
      const { id } = await findOrganisation(context, values.organisation);
      if (name.length > KEY_NAME_MAX) throw new CommandRefused(`The name has more than ${KEY_NAME_MAX} characters.`);
      const expiresAt = expiryOf(values.expires, context.now());
      const scopes = scopesOf(values.scopes);
      const { key, secret } = await issueKey(context, { organisation: id, name, expiresAt, scopes, test });
      return {
        data: {
          id: key.id,
          name: key.name,
          key: secret,
          last4: key.last4,
          scopes: key.scopes,
          test: key.test,
          createdAt: key.createdAt,
          expiresAt: key.expiresAt,
        },
        lines: [
          `Key: ${secret}`,
          'Save the key now: it is not shown again.',
          `ID: ${key.id}`,
          ...(key.test ? ['It is a test key: it scans only the demo site and loopback addresses, and costs nothing.'] : []),
          `Scopes: ${key.scopes.join(',')}`,
          `Expires: ${key.expiresAt?.toISOString() ?? 'never'}`,
        ],
      };
    },
  }),

  list: command({
    summary: "lists an organisation's live keys",
    options: ORGANISATION_OPTION,
    async run({ values }, context) {
      const { id } = await findOrganisation(context, values.organisation);
      const keys = await liveKeys(context, id);
      const rows = keys.map((key) => [
        key.id,
        key.name,
        `${key.test ? 'test ' : ''}…${key.last4}`,
        key.scopes.length === KEY_SCOPES.length ? 'all' : key.scopes.join(','),
        key.createdAt.toISOString(),
        key.createdBy,
        key.limit === null ? 'none' : `${key.limit.role}${key.limit.left ? ' (left)' : ''}`,
        key.expiresAt?.toISOString() ?? 'never',
        key.lastUsedAt?.toISOString() ?? 'never',
      ]);
      return {
        data: keys,
        lines:
          keys.length === 0
            ? [`${id} has no live keys.`]
            : columns([['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'CREATED BY', 'ROLE LIMIT', 'EXPIRES', 'LAST USED'], ...rows]),
      };
    },
  }),

  revoke: command({
    arguments: '<KEY_ID>',
    summary: 'revokes a key on every replica immediately',
    options: ORGANISATION_OPTION,
    async run({ positionals: [keyId], values }, context) {
      const { id } = await findOrganisation(context, values.organisation);
      const revoked = await context.stores.keys.revoke(id, keyId, ACTOR);
      // Also if it was revoked before: the entry of that command may have been lost.
      const key = revoked ?? (await context.stores.keys.find(id, keyId));
      if (key !== null) await recordKey(context, key);
      if (revoked === null) throw new CommandRefused(`${id} has no live key ${keyId}; run "curbcut-admin key list --organisation ${id}".`);
      return { data: { id: keyId, revoked: true }, lines: [`Revoked key ${keyId}.`] };
    },
  }),
};
