/** Generates the limits in docs/reference.md: those that are constants of the code, not settings. */
import { STREAMS_PER_KEY } from '../api/http/errors.ts';
import { SECOND_FACTOR_LIMITS } from '../api/dashboard/second-factor/proof.ts';
import { INVITATION_LIMIT, MAILBOX_INVITATION_LIMIT } from '../api/dashboard/settings/members.ts';
import { RESET_LIMIT } from '../api/dashboard/sign-in/reset-password.ts';
import { NETWORK_LIMITS, NETWORK_SHARES } from '../api/http/networks/network-limits.ts';
import { LIMITS, type LimitSize } from '../api/http/rate-limits.ts';
import { SIGN_IN_LIMITS } from '../api/accounts/sessions/sign-in-limits.ts';
import { NODES_MAX } from '../report/results/cap-nodes.ts';
import { CONVERTED_MAX_BYTES, LARGE_EXPORT_BYTES } from '../report/schema/export-size.ts';
import { FAILURE_SUMMARY_MAX, LINKED_FROM_MAX, NODE_HTML_MAX, RELATED_MAX, SELECTOR_MAX } from '../report/schema/page.ts';
import { PICTURE_MAX_BYTES } from '../report/schema/report.ts';
import { DASHBOARD_SCHEDULES_MAX } from '../core/protocol/scan-schedules.ts';
import { LIVE_TEST_SCANS_MAX } from '../core/scan/counts.ts';
import { MAX_PAGES_CEILING } from '../core/scan/options.ts';
import { PREPARE_MAX } from '../core/scan/steps.ts';
import { URL_MAX_LENGTH } from '../core/scan/targets.ts';
import { FRAMES_LISTED_MAX, FRAMES_MAX } from '../scanner-image/page/axe/frames.ts';
import { SIGN_INS_AGAIN_MAX, STEPS_MS } from '../scanner-image/page/session/renewable-state.ts';
import { STEP_MS } from '../scanner-image/page/session/steps.ts';
import { EXCLUSIONS_MAX } from '../scanner-image/crawl/listing.ts';
import { ROBOTS_MAX_BYTES } from '../scanner-image/crawl/robots.ts';
import { SITEMAPS_MS } from '../scanner-image/crawl/site.ts';
import { SITEMAP_MAX_BYTES, SITEMAPS_MAX } from '../scanner-image/crawl/sitemaps.ts';
import { ADVICE_IN_TABLE, CAUSES_IN_FULL, CAUSES_IN_TABLE, REVIEWS_IN_FULL } from '../report/pdf/causes.ts';
import { GAP_ROWS } from '../report/pdf/gaps.ts';
import { TESTED_ROWS } from '../report/pdf/pages.ts';
import { INVITATION_HOURS, INVITATIONS_MAX } from '../stores/accounts/invitations.ts';
import { LIVE_KEYS_MAX } from '../stores/accounts/key-slots.ts';
import { PASSKEYS_MAX } from '../stores/accounts/second-factor-steps.ts';
import { SESSION_IDLE_MS, SESSION_MAX_MS, SESSIONS_PER_USER } from '../stores/accounts/sessions.ts';
import { table } from './reference.ts';

const HOUR_MS = 3_600_000;
const number = (value: number): string => value.toLocaleString('en');
const seconds = (ms: number): string => `${ms / 1000} s`;
const kib = (bytes: number): string => `${bytes / 1024} KiB`;
const mib = (bytes: number): string => `${bytes / 1024 / 1024} MiB`;
const WINDOWS: Readonly<Record<number, string>> = { 60: 'minute', 900: '15 minutes', 3600: 'hour' };
const per = ({ limit, windowSeconds }: LimitSize): string => `${limit} per ${WINDOWS[windowSeconds]}`;
const limits = (rows: readonly (readonly [what: string, limit: string | number])[]): string =>
  table(
    ['what', 'at most'],
    rows.map(([what, limit]) => [what, typeof limit === 'number' ? number(limit) : limit]),
  );

export const limitsSection = (): string => `## Limits

These limits are fixed. [The chart's values](../helm/README.md#values) are those that you can set.

### API keys

Windows are sliding and exact across replicas. A request above a limit gets 429 with \`Retry-After\`.

${limits([
  ['requests with one key', per(LIMITS.key)],
  ['submissions of one organisation', per(LIMITS.submissions)],
  ['links to reports of one organisation', per(LIMITS.reports)],
  ['new keys of one organisation', per(LIMITS['key-creations'])],
  ['pages of the dashboard of one user on a replica, with their pictures', per(LIMITS.pages)],
  ['live keys of one organisation', LIVE_KEYS_MAX],
  ['schedules of the dashboard of one organisation', DASHBOARD_SCHEDULES_MAX],
  ['live scans of the test keys of one organisation', LIVE_TEST_SCANS_MAX],
  ['event streams of one key on a replica', STREAMS_PER_KEY],
])}

### Requests without a key or session

For one IPv4 address or IPv6 /64, on each replica. A /24 of IPv4 has ${NETWORK_SHARES.ipv4[1]} times each limit, a /56 of IPv6 ${NETWORK_SHARES.ipv6[1]} times, and a /48 ${NETWORK_SHARES.ipv6[2]} times.

${limits([
  ['unknown keys and sessions', per(NETWORK_LIMITS['invalid-keys'])],
  ['requests for public scans, whatever their outcome', per(NETWORK_LIMITS['public-requests'])],
  ['requests with an `Idempotency-Key`', per(NETWORK_LIMITS['idempotency-keys'])],
  ['polls of public scans', per(NETWORK_LIMITS['public-status'])],
  ['pages behind a link (public results and their pictures, invitations, new passwords, unsubscribing)', per(NETWORK_LIMITS.links)],
  ['passwords for accounts that do not know the network', per(NETWORK_LIMITS['sign-in-address'])],
  ['starts and ends of sign-ins at the identity provider', per(NETWORK_LIMITS['sign-in-provider'])],
  ['requests for a link to set a new password', per(NETWORK_LIMITS['reset-address'])],
])}

### Accounts

${limits([
  ['passwords of one client address for one account', per(SIGN_IN_LIMITS['sign-in'])],
  ['passwords for one account from networks that it does not know', per(SIGN_IN_LIMITS['sign-in-account'])],
  ['second factors of one client address for one account', per(SECOND_FACTOR_LIMITS['second-factor'])],
  ['codes for one account', per(SECOND_FACTOR_LIMITS['second-factor-account'])],
  ['mails to one address with a link for a new password', per(RESET_LIMIT)],
  ['invitations of one organisation', `${per(INVITATION_LIMIT)}, ${INVITATIONS_MAX} open ones`],
  ['invitations to one address', per(MAILBOX_INVITATION_LIMIT)],
  ['time until an invitation expires', `${INVITATION_HOURS} hours`],
  ['passkeys of one account', PASSKEYS_MAX],
  ['sessions of one user', SESSIONS_PER_USER],
  ['length of a session', `${SESSION_MAX_MS / 24 / HOUR_MS} days, ${SESSION_IDLE_MS / HOUR_MS} hours without use`],
])}

### Crawling

${limits([
  ['pages of a scan', MAX_PAGES_CEILING],
  ['characters of an address', URL_MAX_LENGTH],
  ['addresses that are listed and were not requested', EXCLUSIONS_MAX],
  ['sitemaps of a scan', `${SITEMAPS_MAX} files of ${mib(SITEMAP_MAX_BYTES)}, read for ${seconds(SITEMAPS_MS)}`],
  ['part of robots.txt that is read', kib(ROBOTS_MAX_BYTES)],
  ['frames of a page', `${FRAMES_MAX} tested, ${FRAMES_LISTED_MAX} listed as untested`],
  ['steps in `crawl.prepare`', PREPARE_MAX],
  ['time for one step', seconds(STEP_MS)],
  ['time for all steps together', seconds(STEPS_MS)],
  ['sign-ins that are repeated', SIGN_INS_AGAIN_MAX],
])}

### JSON export

${limits([
  ['elements of one rule and page that are described', NODES_MAX],
  ['characters of the HTML of an element', NODE_HTML_MAX],
  ['characters of a selector', SELECTOR_MAX],
  ['characters of a failure summary', FAILURE_SUMMARY_MAX],
  ['related elements of an element', RELATED_MAX],
  ['pages that link to an untested one', LINKED_FROM_MAX],
  ['size of a picture', kib(PICTURE_MAX_BYTES)],
  ['export that the service compares for callers', mib(LARGE_EXPORT_BYTES)],
  ['export that the service converts to other formats', mib(CONVERTED_MAX_BYTES)],
])}

### PDF report

${limits([
  ['root causes', `${CAUSES_IN_FULL} in full, ${CAUSES_IN_TABLE} in a table`],
  ['groups of elements that need review', `${REVIEWS_IN_FULL} in full, ${CAUSES_IN_TABLE} in a table`],
  ['root causes of advice', `${ADVICE_IN_TABLE} in a table`],
  ['tested pages', TESTED_ROWS],
  ['rows of each table of what was not tested', GAP_ROWS],
])}
`;
