/** The list of API keys with the rotation guide and the limits, and the question before one is revoked. */
import type { FastifyRequest } from 'fastify';
import { KEY_SCOPES, keyIdOf, type Role } from '../../../core/accounts.ts';
import { LIVE_KEYS_MAX } from '../../../stores/accounts/key-slots.ts';
import { type ApiKey, KEY_STATUSES, type KeyStatus, statusOf } from '../../../stores/accounts/keys.ts';
import { LIMITS } from '../../http/rate-limits.ts';
import {
  badge,
  type BadgeKind,
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
import type { ActorNames } from '../names.ts';
import { endForm, titledPage } from '../forms.ts';
import { KEYS_PATH } from '../../../core/web-paths.ts';
import { m, t, tr } from '../../web/texts.ts';

const STATUS_BADGES: Readonly<Record<KeyStatus, BadgeKind>> = { live: 'good', expired: 'warn', revoked: 'plain' };
const STATUS_NAMES: Readonly<Record<KeyStatus, string>> = { live: m`Live`, expired: m`Expired`, revoked: m`Revoked` };

/** The contract's steps. */
const ROTATION = [
  m`Create a new key with the same scopes.`,
  m`Update the secret of your CI with the new key.`,
  m`Verify the new key in a test run. Its last use then appears in this list.`,
  m`Revoke the old key when it is not used any more. Its last use says when that is.`,
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
  const body = html`<p class="lead">${t`Keys let pipelines and scripts use the API. Give each use a key of its own, so that it can be revoked alone.`}</p>
    <p>${linkButton({ text: t`Create an API key`, href: `${KEYS_PATH}/new`, kind: 'primary' })}</p>
    ${tabs(t`Status of the keys`, [
      { text: t`All`, href: KEYS_PATH, current: status === undefined },
      ...KEY_STATUSES.map((one) => ({ text: tr(STATUS_NAMES[one]), href: addressOf(KEYS_PATH, { status: one }), current: one === status })),
    ])}
    ${keys.length === 0 ? noKeys(status, first) : keyTable(keys, names, now)}
    ${pagination({ previous: first ? null : addressOf(KEYS_PATH, { status }), next: nextCursor && addressOf(KEYS_PATH, { status, cursor: nextCursor }) })}
    ${card({
      title: t`Replace a key without downtime`,
      body: html`<ol>
        ${ROTATION.map((step) => html`<li>${tr(step)}</li>`)}
      </ol>`,
    })}
    ${card({ title: t`Limits`, body: limits() })}`;
  return titledPage({ request, title: t`API keys`, active: 'api-keys', done: message, body });
}

function noKeys(status: KeyStatus | undefined, first: boolean): Html {
  if (!first) return emptyState({ title: t`There are no more keys`, text: t`The list ended with the part before.` });
  if (status !== undefined) return emptyState({ title: t`No key has this status`, text: t`Choose another status to see the other keys.` });
  return emptyState({ title: t`There is no key yet`, text: t`Create one to submit scans from your pipeline or from the command line.` });
}

const keyTable = (keys: readonly ApiKey[], names: ActorNames, now: Date): Html =>
  table({
    id: 'keys',
    caption: t`API keys, newest first`,
    captionHidden: true,
    columns: [
      { text: t`Name` },
      { text: t`Key` },
      { text: t`Status` },
      { text: t`Scopes`, wide: true },
      { text: t`Created` },
      { text: t`Created by` },
      { text: t`Expires` },
      { text: t`Last used` },
      { text: t`Actions`, hidden: true },
    ],
    rows: keys.map((key) => {
      const status = statusOf(key, now);
      return [
        key.name,
        html`${endOf(key)} ${key.test && badge('plain', t`Test`)}`,
        badge(STATUS_BADGES[status], tr(STATUS_NAMES[status])),
        scopesText(key),
        time(key.createdAt),
        html`${names(key.createdBy)} ${limitText(key)}`,
        key.expiresAt === null ? t`Never` : time(key.expiresAt),
        lastUse(key),
        status === 'live' && linkButton({ text: t`Revoke`, kind: 'quiet', href: `${KEYS_PATH}/${key.id}/revoke`, hiddenText: key.name }),
      ];
    }),
  });

const AT_MOST: Readonly<Record<Role, string>> = {
  owner: m`at most what an owner may do`,
  member: m`at most what a member may do`,
  viewer: m`at most what a viewer may do`,
};

/** Whose role limits a key, if that says more than who created it. */
export function limitText({ limit, createdBy, rootCreator }: ApiKey): string {
  if (limit === null) return '';
  if (!limit.left && limit.role === 'owner')
    return rootCreator === createdBy || keyIdOf(createdBy) !== null ? '' : t`(adopted by ${rootCreator})`;
  const most = tr(AT_MOST[limit.role]);
  if (rootCreator === createdBy) return limit.left ? t`(who has left: ${most})` : t`(who is no owner: ${most})`;
  return limit.left ? t`(for ${rootCreator}, who has left: ${most})` : t`(for ${rootCreator}, who is no owner: ${most})`;
}

/** The end of a key, by which people recognise it. The word joiner keeps it on one line. */
export const endOf = ({ last4 }: Pick<ApiKey, 'last4'>): Html => html`<code translate="no">…\u2060${last4}</code>`;

/** The scopes of a key in words. */
export const scopesText = ({ scopes }: Pick<ApiKey, 'scopes'>): string =>
  scopes.length === KEY_SCOPES.length ? t`All` : scopes.join(', ');

export const lastUse = ({ lastUsedAt }: Pick<ApiKey, 'lastUsedAt'>): Html | string => (lastUsedAt === null ? t`Never` : time(lastUsedAt));

function limits(): Html {
  const rows = [
    [t`All requests`, LIMITS.key, t`per key`],
    [t`Submissions of scans`, LIMITS.submissions, t`per organisation`],
    [t`Links to reports`, LIMITS.reports, t`per organisation`],
    [t`New API keys`, LIMITS['key-creations'], t`per organisation`],
  ] as const;
  return html`${table({
    id: 'limits',
    caption: t`Requests that are accepted`,
    columns: [{ text: t`Requests` }, { text: t`Limit`, numeric: true }, { text: t`Counted` }],
    rows: rows.map(([what, { limit, windowSeconds }, whose]) => [what, t`${limit} in ${windowSeconds} s`, whose]),
  })}
    <p>
      ${t`Above a limit the API answers 429, and the header ${html`<code translate="no">Retry-After</code>`} says after how many seconds a request is accepted again.`} ${t`An organisation can have ${LIVE_KEYS_MAX} live keys.`}
    </p>`;
}

/** A key that was used within this time is probably still in use. */
const IN_USE_DAYS = 7;

export function revokeKeyPage({ request, key, names, now }: { request: FastifyRequest; key: ApiKey; names: ActorNames; now: Date }): Html {
  const live = statusOf(key, now) === 'live';
  const title = live ? t`Revoke this API key?` : t`This API key is not live`;
  const body = html`${definitions([
    [t`Name`, key.name],
    [t`Key`, html`${endOf(key)} ${key.test && badge('plain', t`Test`)}`],
    [t`Scopes`, scopesText(key)],
    [t`Created`, time(key.createdAt)],
    [t`Created by`, html`${names(key.createdBy)} ${limitText(key)}`],
    [t`Last used`, lastUse(key)],
  ])}
    ${live ? confirmation(request, key, now) : html`<p>${t`Nothing can use it any more.`}</p>${linkButton({ text: t`Show the API keys`, href: KEYS_PATH })}`}`;
  return titledPage({ request, title, active: 'api-keys', trail: [{ text: t`API keys`, href: KEYS_PATH }], narrow: true, body });
}

const confirmation = (request: FastifyRequest, key: ApiKey, now: Date): Html =>
  html`${notice(consequence(key, now))}
    ${endForm(request, { action: `${KEYS_PATH}/${key.id}/revoke`, text: t`Revoke key`, keep: KEYS_PATH })}`;

function consequence({ lastUsedAt }: ApiKey, now: Date): Parameters<typeof notice>[0] {
  const effect = t`Revoking takes effect at once and cannot be undone. Event streams that were opened with the key end.`;
  if (lastUsedAt === null) return { kind: 'note', title: t`The key was never used`, body: effect };
  const recent = now.getTime() - lastUsedAt.getTime() < IN_USE_DAYS * 86_400_000;
  return recent
    ? {
        kind: 'warn',
        title: t`The key seems to be in use`,
        body: t`Last use: ${time(lastUsedAt)}. What uses it will get 401. ${effect}`,
      }
    : { kind: 'note', title: t`The key was not used for more than ${IN_USE_DAYS} days`, body: effect };
}
