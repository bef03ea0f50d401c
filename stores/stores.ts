/** The stores in MongoDB. */
import type { Db } from 'mongodb';
import type { Logger } from '../platform/logger.ts';
import { createComparisonCache, type ComparisonCache } from './comparisons.ts';
import { createCredits, type CreditMove, type Credits } from './credits/credits.ts';
import { createIdempotency, type Idempotency } from './submissions/idempotency.ts';
import { createKeys, type Keys } from './accounts/keys.ts';
import { createRateLimits } from './rate-limits/rate-limits.ts';
import type { RateLimits } from './rate-limits/sliding-window.ts';
import { createOrganisations, type Organisations } from './accounts/organisations.ts';
import { createOutbox, type Outbox } from './mail/outbox.ts';
import { createSuppressions, type Suppressions } from './mail/suppressions.ts';
import { createDeliveries, type Deliveries } from './webhooks/deliveries.ts';
import { createWebhookEvents, type WebhookEvents } from './webhooks/events.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';
import { createPublicScans, type PublicScans } from './public-scans/public-scans.ts';
import { createQueueStates, type QueueStates } from './submissions/queue-state.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';
import { createKnownIssues, type KnownIssues } from './known-issues/known-issues.ts';
import { createScans, type Scans } from './scans/scans.ts';
import { createInvitations, type Invitations } from './accounts/invitations.ts';
import { createMembers, type Members } from './accounts/members.ts';
import { createOidcFlows, type OidcFlows } from './accounts/oidc-flows.ts';
import { createPasswordResets, type PasswordResets } from './accounts/password-resets.ts';
import { createPasskeyChallenges, type PasskeyChallenges } from './accounts/passkey-challenges.ts';
import { createPendingSignIns, type PendingSignIns } from './accounts/pending-sign-ins.ts';
import { createSecondFactors, type SecondFactors } from './accounts/second-factors.ts';
import { createSignInFailures, type SignInFailures } from './accounts/sign-in-failures.ts';
import { createSessions, type Sessions } from './accounts/sessions.ts';
import { createUsers, type Users } from './accounts/users.ts';

export interface AllStores {
  scans: Scans;
  knownIssues: KnownIssues;
  schedules: Schedules;
  comparisonCache: ComparisonCache;
  credits: Credits;
  rateLimits: RateLimits;
  keys: Keys;
  organisations: Organisations;
  users: Users;
  members: Members;
  sessions: Sessions;
  signInFailures: SignInFailures;
  invitations: Invitations;
  passwordResets: PasswordResets;
  oidcFlows: OidcFlows;
  secondFactors: SecondFactors;
  passkeyChallenges: PasskeyChallenges;
  pendingSignIns: PendingSignIns;
  idempotency: Idempotency;
  queueStates: QueueStates;
  outbox: Outbox;
  suppressions: Suppressions;
  publicScans: PublicScans;
  webhooks: Webhooks;
  deliveries: Deliveries;
  webhookEvents: WebhookEvents;
}

/** Callbacks for metrics. */
export interface StoreObservers {
  /** Called for each request whose limits were counted locally because the database is down. */
  onLimitFallback?: (error: unknown) => void;
  /** Called for every reserve and settle that moved credits. */
  onCredits?: (move: CreditMove) => void;
}

/** Opens every store in one database. */
export function openStores(db: Db, options: StoreObservers & { logger?: Logger } = {}): AllStores {
  return {
    scans: createScans(db),
    knownIssues: createKnownIssues(db),
    comparisonCache: createComparisonCache(db),
    schedules: createSchedules(db),
    credits: createCredits(db, { logger: options.logger, onMove: options.onCredits }),
    rateLimits: createRateLimits(db, { onFallback: options.onLimitFallback }),
    keys: createKeys(db),
    organisations: createOrganisations(db),
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
    publicScans: createPublicScans(db),
    webhooks: createWebhooks(db),
    deliveries: createDeliveries(db),
    webhookEvents: createWebhookEvents(db),
  };
}
