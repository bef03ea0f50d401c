/**
 * The stores as one organisation sees them: the only place that binds queries of pages and REST routes to the organisation of
 * the caller. Routes get these stores by `storesOf`, and no others.
 */
import type { FastifyRequest } from 'fastify';
import { auditName, type Caller, keyCreator, type KeyScope, type Role } from '../../core/accounts.ts';
import type { Reader } from '../../core/reader.ts';
import type { AuditPage, NewAuditEntry } from '../../stores/accounts/audit.ts';
import { keyEntries } from '../../stores/accounts/key-entries.ts';
import type { ApiKey, Keys } from '../../stores/accounts/keys.ts';
import { leftBehindBy } from '../../stores/accounts/left-behind.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import type { ScanRow } from '../../stores/scans/scan-row.ts';
import type { DashboardScheduleRef } from '../../stores/schedules/dashboard-schedules.ts';
import type { NewDelivery } from '../../stores/outbox/entries.ts';
import type { MailTopic } from '../../stores/outbox/subscriptions.ts';
import type { Webhook, WebhookChange, WebhookFields } from '../../stores/webhooks/webhooks.ts';
import type { ApiStores } from '../dependencies.ts';
import { callerOf } from '../http/plugins/auth.ts';
import type { Logger } from '../../platform/logger.ts';
import { providerDecides } from './sessions/role-mapping.ts';
import { signedInOf } from './sessions/plugin.ts';

/** What was done, and by whom and when if it was not the caller, now. */
export type Change = Omit<NewAuditEntry, 'organisation' | 'network' | 'actor'> & Partial<Pick<NewAuditEntry, 'actor'>>;

export type ScopedStores = ReturnType<typeof scopedTo>;

export function scopedTo({ organisation: { id }, actor }: Caller, stores: ApiStores) {
  const {
    scans,
    keys,
    credits,
    organisations,
    schedules,
    dashboardSchedules,
    members,
    invitations,
    sessions,
    webhooks,
    deliveries,
    knownIssues,
    sites,
    subscriptions,
  } = stores;
  const { cap: _cap, ...creator } = keyCreator(actor);
  return {
    leftBehindBy: (person: string) => leftBehindBy(stores, id, person),
    scans: {
      find: (scanId: string) => scans.find(scanId, id),
      erase: (scanId: string) => scans.erase(id, scanId),
      eraseSite: (site: string, limit: number) => scans.eraseSite(id, site, limit),
      findMany: async (ids: readonly string[]) => (await scans.findMany(ids)).filter(({ organisation }) => organisation === id),
      search: (search: Parameters<typeof scans.search>[1]) => scans.search(id, search),
      trend: async (row: ScanRow, limit: number) => (row.organisation === id ? scans.trend(row, limit) : []),
      checksOf: (scanId: string) => scans.checksOf(id, scanId),
      previousDone: async (row: ScanRow) => (row.organisation === id ? scans.previousDone(row) : null),
    },
    keys: {
      issue: (key: Omit<Parameters<Keys['issue']>[0], 'organisation' | 'creator'>) =>
        keys.issue({ ...key, organisation: id, creator: keyCreator(actor) }),
      find: (keyId: string) => keys.find(id, keyId),
      names: (keyIds: readonly string[]) => keys.names(id, keyIds),
      list: (page: Parameters<Keys['list']>[1]) => keys.list(id, page),
      revoke: (keyId: string) => keys.revoke(id, keyId, auditName(actor)),
      adopt: (keyId: string, from: string) => keys.adopt(id, keyId, from, auditName(actor)),
      revokeCreatedBy: (person: string) => keys.revokeCreatedBy(id, person, auditName(actor)),
    },
    credits: {
      balance: () => credits.balance(id),
      /** Null if the organisation has no account. */
      account: async () => (await credits.accounts([id])).get(id) ?? null,
      ledger: (page: Parameters<typeof credits.ledger>[1]) => credits.ledger(id, page),
    },
    knownIssues: {
      add: (issue: Omit<Parameters<typeof knownIssues.add>[0], 'organisation'>, issueId?: string) =>
        knownIssues.add({ ...issue, organisation: id }, issueId),
      find: (issueId: string) => knownIssues.find(id, issueId),
      list: (page: Parameters<typeof knownIssues.list>[1]) => knownIssues.list(id, page),
      change: (issueId: string, change: Parameters<typeof knownIssues.change>[2], read?: KnownIssueRow) =>
        knownIssues.change(id, issueId, change, read),
      remove: (issueId: string) => knownIssues.remove(id, issueId),
      about: (site: string, targets: Parameters<typeof knownIssues.about>[2], now: Date) => knownIssues.about(id, site, targets, now),
      matchesOf: (site: string) => knownIssues.matchesOf(id, site),
      matchesOfSites: (sites: readonly string[]) => knownIssues.matchesOfSites(id, sites),
    },
    schedules: {
      list: (page: Parameters<typeof schedules.list>[1]) => schedules.list(id, page),
      find: (schedule: Parameters<typeof schedules.find>[1]) => schedules.find(id, schedule),
      nextRuns: (hosts: readonly string[]) => schedules.nextRuns(id, hosts),
      /** Removes what is stored of a schedule. The operator stores it again if it exists. */
      remove: async (schedule: DashboardScheduleRef) => {
        const row = await schedules.find(id, schedule);
        if (row !== null) await schedules.remove(row);
      },
    },
    dashboardSchedules: {
      add: (schedule: Omit<Parameters<typeof dashboardSchedules.add>[0], 'organisation' | 'rootCreator'>) =>
        dashboardSchedules.add({ ...schedule, organisation: id, rootCreator: creator.rootCreator }),
      /** Whether a schedule is the organisation's, and of the dashboard. */
      has: async (schedule: DashboardScheduleRef) => [...(await dashboardSchedules.owners([schedule])).values()].includes(id),
      list: () => dashboardSchedules.list(id),
      remove: (schedule: DashboardScheduleRef) => dashboardSchedules.remove(id, schedule),
    },
    sites: {
      search: (search: Parameters<typeof sites.search>[1]) => sites.search(id, search),
      find: (host: string, optionsKey: string) => sites.find(id, host, optionsKey),
      of: (host: string) => sites.of(id, host),
      label: (label: Parameters<typeof sites.label>[1]) => sites.label(id, label),
      remove: (host: string) => sites.remove(id, host),
      /** Call it only for a scan that the organisation had. */
      without: (scanId: string) => sites.without([scanId]),
    },
    subscriptions: {
      find: (email: string) => subscriptions.find(id, email),
      set: (email: string, topic: MailTopic, wanted: boolean) => subscriptions.set(id, email, topic, wanted),
      recipients: () => subscriptions.recipients(id),
      add: (one: Omit<Parameters<typeof subscriptions.add>[0], 'organisation'>) => subscriptions.add({ ...one, organisation: id }),
      removeRecipient: (recipientId: string) => subscriptions.removeRecipient({ id: recipientId, organisation: id }),
      forgetSite: (site: string) => subscriptions.forgetSite(id, site),
    },
    webhooks: {
      add: (fields: WebhookFields & { id?: string }) => webhooks.add({ ...fields, organisation: id, ...creator }),
      find: (webhookId: string) => webhooks.find(id, webhookId),
      list: (page?: Parameters<typeof webhooks.list>[1]) => webhooks.list(id, page),
      change: (webhookId: string, change: WebhookChange, read?: Webhook) => webhooks.change(id, webhookId, change, read),
      rotate: (webhookId: string, rotation: string, keepPrevious: boolean) => webhooks.rotate(id, webhookId, rotation, keepPrevious),
      remove: (webhookId: string) => webhooks.remove(id, webhookId),
    },
    deliveries: {
      find: (webhookId: string, deliveryId: string) => deliveries.find(id, webhookId, deliveryId),
      list: (webhookId: string, page: Parameters<typeof deliveries.list>[2]) => deliveries.list(id, webhookId, page),
      replay: (webhookId: string, deliveryId: string, key: string) => deliveries.replay(id, webhookId, deliveryId, key),
      enqueue: (delivery: Omit<NewDelivery, 'organisation'>) => deliveries.enqueue([{ ...delivery, organisation: id }]),
      /** Call it only for a webhook of the organisation. */
      cancelAll: deliveries.cancelAll,
    },
    members: {
      list: () => members.list(id),
      setRole: (email: string, role: Role) => members.setRole(id, email, role),
      remove: (email: string) => members.remove(id, email),
    },
    invitations: {
      list: () => invitations.list(id),
      create: (invitation: { email: string; role: Role; mailed: boolean }) =>
        invitations.create({ ...invitation, organisation: id, createdBy: auditName(actor) }),
      cancel: (invitationId: string) => invitations.cancel(id, invitationId),
    },
    /** Why the caller no longer has the scopes with which its request began; null if it has them. A new key of a person follows the role. */
    lostRights: async (scopes: readonly KeyScope[]) => {
      if (actor.kind === 'user') return (await sessions.usable([actor.sessionId])).has(actor.sessionId) ? null : 'session_required';
      const [usable, key] = await Promise.all([keys.usable([actor.keyId]), keys.find(id, actor.keyId)]);
      if (!usable.has(actor.keyId) || key === null) return 'invalid_api_key';
      return scopes.every((scope) => key.scopes.includes(scope)) ? null : 'permission_denied';
    },
    audit: {
      page: (page: AuditPage) => organisations.auditPage(id, page),
      record: (change: Change) => organisations.record({ actor: auditName(actor), ...change, organisation: id }),
      /** Records what happened to keys of the organisation. An entry that is stored already changes nothing. */
      recordKey: async (key: ApiKey) => {
        for (const entry of keyEntries(key)) await organisations.record({ ...entry, organisation: id });
      },
    },
  };
}

/** What the signed-in user may read and change, whichever organisation the session acts for. @throws TypeError before sign-in */
export function ownStoresOf(request: FastifyRequest) {
  const { settings, stores } = request.server;
  const { users, members, invitations, sessions, subscriptions } = stores;
  const { user } = signedInOf(request);
  const { email } = user;
  /** An address that is not verified may be someone else's, so its user does not learn who invited it. */
  const invited = async () =>
    (user.verified ? await invitations.findByEmail(email) : []).filter((one) => !providerDecides(settings, one.organisation));
  return {
    verify: (password: string) => users.verify(email, password),
    changePassword: users.changePassword,
    rename: (name: string | null) => users.rename(email, name),
    async setReader(reader: Reader) {
      await users.setReader(email, reader);
      await subscriptions.replan(email);
    },
    sessions: () => sessions.list(email),
    endSessions: () => users.endSessions(email),
    organisations: () => members.of(email),
    invitations: invited,
    /** Accepts one of `invitations`. */
    accept: async (id: string) =>
      (await invited()).some((one) => one.id === id)
        ? members.accept({ id, email }, async () => user)
        : ({ ok: false, reason: 'ended' } as const),
    decline: async (id: string) => (user.verified ? invitations.decline(email, id) : null),
    confirm: (organisation: string) => members.confirm(organisation, email),
    leave: (organisation: string, options?: { lastOwner?: boolean }) => members.remove(organisation, email, options),
    deleteAccount: () => members.deleteAccount(email),
  };
}

/** The stores of the caller's organisation. @throws TypeError outside the authenticated scopes */
export function storesOf(request: FastifyRequest): ScopedStores {
  return scopedTo(callerOf(request), request.server.stores);
}

/** A failure is only logged: the change was made, and the response may contain a secret. */
export async function recordChange(request: FastifyRequest, logger: Logger, change: Change): Promise<void> {
  const { organisation, actor } = callerOf(request);
  const entry = { organisation: organisation.id, actor: auditName(actor), ...change };
  await storesOf(request)
    .audit.record(change)
    .catch((err: unknown) => logger.error({ request: request.id, ...entry, err }, 'audit entry lost'));
}
