/** The stores in MongoDB. */
import type { Db } from 'mongodb';
import type { Logger } from '../platform/logger.ts';
import { createComparisonCache } from './comparisons.ts';
import { createCredits, type CreditMove } from './credits/credits.ts';
import { createIdempotency } from './submissions/idempotency.ts';
import { createKeys } from './accounts/keys.ts';
import { createRateLimits } from './rate-limits.ts';
import { createOrganisations } from './accounts/organisations.ts';
import { createPurge } from './accounts/purge.ts';
import { createOutbox } from './outbox/outbox.ts';
import { createSubscriptions } from './outbox/subscriptions.ts';
import { createSuppressions } from './outbox/suppressions.ts';
import { createDeliveries } from './outbox/deliveries.ts';
import { createWebhookEvents } from './webhooks/events.ts';
import { createWebhooks } from './webhooks/webhooks.ts';
import { createPublicScans } from './scans/public-scans.ts';
import { createQueueStates } from './submissions/queue-state.ts';
import { createDashboardSchedules } from './schedules/dashboard-schedules.ts';
import { createSchedules } from './schedules/schedules.ts';
import { createKnownIssues } from './known-issues/known-issues.ts';
import { createScans } from './scans/scans.ts';
import { createSites } from './scans/sites.ts';
import { createInvitations } from './accounts/invitations.ts';
import { createMembers } from './accounts/members.ts';
import { createOidcFlows, createPasskeyChallenges, createPendingSignIns } from './accounts/pending-sign-ins.ts';
import { createPasswordResets } from './accounts/one-time-links.ts';
import { createSecondFactors } from './accounts/second-factors.ts';
import { createSignInFailures } from './accounts/sign-in-failures.ts';
import { createSessions } from './accounts/sessions.ts';
import { createUsers } from './accounts/users.ts';

/** Callbacks for metrics. */
export interface StoreObservers {
  /** Called for each request whose limits were counted locally because the database is down. */
  onLimitFallback?: (error: unknown) => void;
  /** Called for every reserve and settle that moved credits. */
  onCredits?: (move: CreditMove) => void;
}

/** Opens every store in one database. */
export function openStores(db: Db, options: StoreObservers & { logger?: Logger } = {}) {
  const scans = createScans(db);
  const credits = createCredits(db, { logger: options.logger, onMove: options.onCredits });
  return {
    scans,
    sites: createSites(db),
    knownIssues: createKnownIssues(db),
    comparisonCache: createComparisonCache(db),
    schedules: createSchedules(db),
    dashboardSchedules: createDashboardSchedules(db),
    credits,
    rateLimits: createRateLimits(db, { onFallback: options.onLimitFallback }),
    keys: createKeys(db),
    organisations: { ...createOrganisations(db), ...createPurge(db, { eraseScans: scans.eraseAll, relay: credits.relay }) },
    users: createUsers(db),
    members: createMembers(db),
    sessions: createSessions(db),
    signInFailures: createSignInFailures(db),
    invitations: createInvitations(db),
    passwordResets: createPasswordResets(db),
    oidcFlows: createOidcFlows(db),
    secondFactors: createSecondFactors(db),
    passkeyChallenges: createPasskeyChallenges(db),
    pendingSignIns: createPendingSignIns(db),
    idempotency: createIdempotency(db),
    queueStates: createQueueStates(db),
    outbox: createOutbox(db),
    suppressions: createSuppressions(db),
    subscriptions: createSubscriptions(db),
    publicScans: createPublicScans(db),
    webhooks: createWebhooks(db),
    deliveries: createDeliveries(db),
    webhookEvents: createWebhookEvents(db),
  };
}

export type AllStores = ReturnType<typeof openStores>;
