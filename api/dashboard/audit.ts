/** Who did what to an account or with a session: entries of the audit log, and mails to the owner of the account. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type AccountNotice, NOTICE_OF_ACTION } from '../../core/audit-actions.ts';
import type { NewAuditEntry } from '../../stores/accounts/audit.ts';
import { auditNetwork } from '../http/networks/networks.ts';
import { t } from '../web/texts.ts';
import type { SignedIn, SignInMethod } from '../../stores/accounts/sessions.ts';

const METHODS: Readonly<Record<SignInMethod, string>> = { password: 'password', oidc: 'identity provider', passkey: 'passkey' };

/**
 * Records a sign-in, and mails the owner of the account if it came from a new network. A network is new if there was no sign-in
 * from it for as long as entries about security are kept. A network has an entry of its own, which each sign-in from it keeps
 * longer.
 * @param first whether the account had no sign-in before: its owner expects this one
 */
export async function recordSignIn(request: FastifyRequest, { session, membership }: SignedIn, first: boolean): Promise<void> {
  // An account without an organisation has no audit log.
  if (membership === null) return;
  const { id, email, method, browser } = session;
  const about = { organisation: membership.organisation.id, actor: email, subject: `${METHODS[method]}, ${browserName(browser)}` };
  await recordEntry(request, { ...about, action: 'user.sign-in', once: id });
  const once = `${email} ${auditNetwork(request.address)}`;
  const isNew = await recordEntry(request, { ...about, action: 'user.new-network', once });
  if (isNew === true && !first) await mailNotice(request, 'sign_in', email);
}

/** Records that a password was refused. Takes the same time for an address without an account. */
export function recordSignInFailure(request: FastifyRequest, email: string): void {
  request.server.anonymousStores.signInFailures.add({ email, network: auditNetwork(request.address) });
}

/**
 * Records a change of an account in every organisation that it belongs to, and mails its owner. An entry belongs to an
 * organisation: without one there are the mail and a line of the log. A failure is only logged: the change was made.
 */
export async function recordForUser(
  request: FastifyRequest,
  email: string,
  entry: Pick<NewAuditEntry, 'action' | 'subject'>,
): Promise<void> {
  const { stores, logger } = request.server;
  try {
    const confirmed = (await stores.members.of(email)).filter((one) => one.confirmed);
    for (const { organisation } of confirmed) await recordEntry(request, { ...entry, organisation: organisation.id, actor: email });
    if (confirmed.length > 0) return;
    logger.info({ request: request.id, actor: email, ...entry, network: auditNetwork(request.address) }, 'account without an organisation');
    await mailActor(request, { ...entry, actor: email });
  } catch (error) {
    logger.error({ request: request.id, actor: email, ...entry, err: error }, 'audit entry lost');
  }
}

/**
 * Writes an entry of the audit log, with the client's network if it is about security, and mails the actor if the change
 * concerns the actor's account. A failure is only logged: the change was made.
 * @returns whether the entry is new; null if it is lost
 */
export async function recordEntry(request: FastifyRequest, entry: Omit<NewAuditEntry, 'network' | 'at'>): Promise<boolean | null> {
  const { stores, logger } = request.server;
  const stored = await stores.organisations.record({ ...entry, network: auditNetwork(request.address) }).catch((error: unknown) => {
    logger.error({ request: request.id, ...entry, err: error }, 'audit entry lost');
    return null;
  });
  if (stored !== false) await mailActor(request, entry);
  return stored;
}

async function mailActor(request: FastifyRequest, { action, actor }: Pick<NewAuditEntry, 'action' | 'actor'>): Promise<void> {
  const event = NOTICE_OF_ACTION[action];
  if (event !== undefined) await mailNotice(request, event, actor);
}

/** A change of an account is recorded for each of its organisations, and mailed once. */
const noticeIds = new WeakMap<FastifyRequest, string>();

/** Queues a mail, if mail is configured. A failure is only logged: what the mail is about has happened. */
async function mailNotice(request: FastifyRequest, event: AccountNotice, to: string): Promise<void> {
  const { settings, stores, now, logger } = request.server;
  if (!settings.mail) return;
  const network = auditNetwork(request.address);
  if (!noticeIds.has(request)) noticeIds.set(request, randomUUID());
  const data = { event, at: now().toISOString(), client: { network, browser: browserName(request.headers['user-agent'] ?? '') } };
  const id = `account-notice:${event === 'sign_in' ? networkId(to, network) : noticeIds.get(request)!}`;
  await stores.outbox.enqueue({ id, kind: 'account_notice', to, data }).catch((error: unknown) => {
    logger.error({ request: request.id, event, err: error }, 'account notice not mailed');
  });
}

/** An entry of the outbox is kept longer than any other trace of a sign-in, so an account gets one mail about a network. */
const networkId = (email: string, network: string): string =>
  createHash('sha256')
    .update(JSON.stringify([email, network]))
    .digest('hex');

/** In this order, because most browsers also name others. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
];

const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const find = (list: typeof BROWSERS, userAgent: string): string | undefined => list.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Returns text such as "Firefox on Linux" for a User-Agent header, in English, as entries and mails have it. */
export function browserName(userAgent: string): string {
  const [browser = 'Unknown browser', system] = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)];
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** The same in the language of the reader. */
export function shownBrowser(userAgent: string): string {
  const [browser = t`Unknown browser`, system] = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)];
  return system === undefined ? browser : t`${browser} on ${system}`;
}
