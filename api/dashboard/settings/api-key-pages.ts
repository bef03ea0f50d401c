/** The list of API keys with the rotation guide and the limits, and the question before one is revoked. */
import type { FastifyRequest } from 'fastify';
import { KEY_SCOPES, keyIdOf } from '../../../core/accounts.ts';
import { LIVE_KEYS_MAX } from '../../../stores/accounts/key-slots.ts';
import { type ApiKey, KEY_STATUSES, type KeyStatus, statusOf } from '../../../stores/accounts/keys.ts';
import { LIMITS } from '../../http/rate-limits.ts';
import {
  actions,
  badge,
  type BadgeKind,
  button,
  card,
  definitions,
  emptyState,
  linkButton,
  notice,
  pagination,
  table,
  tabs,
  time,
} from '../../web/components.ts';
import { addressOf, html, type Html } from '../../../report/html/html.ts';
import { type ActorNames, ROLE_TEXTS } from '../names.ts';
import { csrfField, titledPage } from '../forms.ts';
import { KEYS_PATH } from '../../../core/web-paths.ts';

const STATUS_BADGES: Readonly<Record<KeyStatus, BadgeKind>> = { live: 'good', expired: 'warn', revoked: 'plain' };
const STATUS_NAMES: Readonly<Record<KeyStatus, string>> = { live: 'Live', expired: 'Expired', revoked: 'Revoked' };

/** The contract's steps. */
const ROTATION = [
  'Create a new key with the same scopes.',
  'Update the secret of your CI with the new key.',
  'Verify the new key in a test run. Its last use then appears in this list.',
  'Revoke the old key when it is not used any more. Its last use says when that is.',
];

export interface KeyListPage {
  request: FastifyRequest;
  keys: readonly ApiKey[];
  /** Of those who created them. */
  names: ActorNames;
  status: KeyStatus | undefined;
  /** Whether this is the first part of the list. */
  first: boolean;
  nextCursor: string | null;
  /** What a person did a moment ago. */
  message: string | null;
  now: Date;
}

export function keyListPage({ request, keys, names, status, first, nextCursor, message, now }: KeyListPage): Html {
  const body = html`<p class="lead">Keys let pipelines and scripts use the API. Give each use a key of its own, so that it can be revoked alone.</p>
    <p>${linkButton({ text: 'Create an API key', href: `${KEYS_PATH}/new`, kind: 'primary' })}</p>
    ${tabs('Status of the keys', [
      { text: 'All', href: KEYS_PATH, current: status === undefined },
      ...KEY_STATUSES.map((one) => ({ text: STATUS_NAMES[one], href: addressOf(KEYS_PATH, { status: one }), current: one === status })),
    ])}
    ${keys.length === 0 ? noKeys(status, first) : keyTable(keys, names, now)}
    ${pagination({ previous: first ? null : addressOf(KEYS_PATH, { status }), next: nextCursor && addressOf(KEYS_PATH, { status, cursor: nextCursor }) })}
    ${card({
      title: 'Replace a key without downtime',
      body: html`<ol>
        ${ROTATION.map((step) => html`<li>${step}</li>`)}
      </ol>`,
    })}
    ${card({ title: 'Limits', body: limits() })}`;
  return titledPage({ request, title: 'API keys', active: 'api-keys', done: message, body });
}

function noKeys(status: KeyStatus | undefined, first: boolean): Html {
  if (!first) return emptyState({ title: 'There are no more keys', text: 'The list ended with the part before.' });
  if (status !== undefined) return emptyState({ title: `There is no ${status} key`, text: 'Choose another status to see the other keys.' });
  return emptyState({ title: 'There is no key yet', text: 'Create one to submit scans from your pipeline or from the command line.' });
}

const keyTable = (keys: readonly ApiKey[], names: ActorNames, now: Date): Html =>
  table({
    id: 'keys',
    caption: 'API keys, newest first',
    captionHidden: true,
    columns: [
      { text: 'Name' },
      { text: 'Key' },
      { text: 'Status' },
      { text: 'Scopes', wide: true },
      { text: 'Created' },
      { text: 'Created by' },
      { text: 'Expires' },
      { text: 'Last used' },
      { text: 'Actions', hidden: true },
    ],
    rows: keys.map((key) => {
      const status = statusOf(key, now);
      return [
        key.name,
        html`${endOf(key)} ${key.test && badge('plain', 'Test')}`,
        badge(STATUS_BADGES[status], STATUS_NAMES[status]),
        scopesText(key),
        time(key.createdAt),
        html`${names(key.createdBy)} ${limitText(key)}`,
        key.expiresAt === null ? 'Never' : time(key.expiresAt),
        lastUse(key),
        status === 'live' && linkButton({ text: 'Revoke', kind: 'quiet', href: `${KEYS_PATH}/${key.id}/revoke`, hiddenText: key.name }),
      ];
    }),
  });

/** Whose role limits a key, if that says more than who created it. */
export function limitText({ limit, createdBy, rootCreator }: ApiKey): string {
  if (limit === null) return '';
  if (!limit.left && limit.role === 'owner')
    return rootCreator === createdBy || keyIdOf(createdBy) !== null ? '' : `(adopted by ${rootCreator})`;
  const most = `at most what a ${ROLE_TEXTS[limit.role].name.toLowerCase()} may do`;
  const who = rootCreator === createdBy ? 'who' : `for ${rootCreator}, who`;
  return `(${who} ${limit.left ? 'has left' : 'is no owner'}: ${most})`;
}

/** The end of a key, by which people recognise it. The word joiner keeps it on one line. */
export const endOf = ({ last4 }: Pick<ApiKey, 'last4'>): Html => html`<code translate="no">…\u2060${last4}</code>`;

/** The scopes of a key in words. */
export const scopesText = ({ scopes }: Pick<ApiKey, 'scopes'>): string => (scopes.length === KEY_SCOPES.length ? 'All' : scopes.join(', '));

export const lastUse = ({ lastUsedAt }: Pick<ApiKey, 'lastUsedAt'>): Html => (lastUsedAt === null ? html`Never` : time(lastUsedAt));

function limits(): Html {
  const rows = [
    ['All requests', LIMITS.key, 'per key'],
    ['Submissions of scans', LIMITS.submissions, 'per organisation'],
    ['Links to reports', LIMITS.reports, 'per organisation'],
    ['New API keys', LIMITS['key-creations'], 'per organisation'],
  ] as const;
  return html`${table({
    id: 'limits',
    caption: 'Requests that are accepted',
    columns: [{ text: 'Requests' }, { text: 'Limit', numeric: true }, { text: 'Counted' }],
    rows: rows.map(([what, { limit, windowSeconds }, whose]) => [what, `${limit} in ${windowSeconds} s`, whose]),
  })}
    <p>
      Above a limit the API answers 429, and the header <code translate="no">Retry-After</code> says after how many seconds a request is
      accepted again. An organisation can have ${LIVE_KEYS_MAX} live keys.
    </p>`;
}

/** A key that was used within this time is probably still in use. */
const IN_USE_DAYS = 7;

export function revokeKeyPage({ request, key, names, now }: { request: FastifyRequest; key: ApiKey; names: ActorNames; now: Date }): Html {
  const live = statusOf(key, now) === 'live';
  const title = live ? 'Revoke this API key?' : 'This API key is not live';
  const body = html`${definitions([
    ['Name', key.name],
    ['Key', html`${endOf(key)} ${key.test && badge('plain', 'Test')}`],
    ['Scopes', scopesText(key)],
    ['Created', time(key.createdAt)],
    ['Created by', html`${names(key.createdBy)} ${limitText(key)}`],
    ['Last used', lastUse(key)],
  ])}
    ${live ? confirmation(request, key, now) : html`<p>Nothing can use it any more.</p>${linkButton({ text: 'Show the API keys', href: KEYS_PATH })}`}`;
  return titledPage({ request, title, active: 'api-keys', trail: [{ text: 'API keys', href: KEYS_PATH }], narrow: true, body });
}

const confirmation = (request: FastifyRequest, key: ApiKey, now: Date): Html =>
  html`${notice(consequence(key, now))}
    <form method="post" action="${KEYS_PATH}/${key.id}/revoke">
      ${csrfField(request)}
      ${actions(button({ text: 'Revoke key', kind: 'danger' }), linkButton({ text: 'Keep it', href: KEYS_PATH, kind: 'quiet' }))}
    </form>`;

function consequence({ lastUsedAt }: ApiKey, now: Date): Parameters<typeof notice>[0] {
  const effect = 'Revoking takes effect at once and cannot be undone. Event streams that were opened with the key end.';
  if (lastUsedAt === null) return { kind: 'note', title: 'The key was never used', body: effect };
  const recent = now.getTime() - lastUsedAt.getTime() < IN_USE_DAYS * 86_400_000;
  return recent
    ? {
        kind: 'warn',
        title: 'The key seems to be in use',
        body: html`Last use: ${time(lastUsedAt)}. What uses it will get 401. ${effect}`,
      }
    : { kind: 'note', title: `The key was not used for more than ${IN_USE_DAYS} days`, body: effect };
}
