/** The dashboard: the pages before sign-in, and those of signed-in users. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { ApiStores } from '../dependencies.ts';
import permissions from '../http/plugins/permissions.ts';
import requireSession from '../accounts/sessions/require-session.ts';
import htmlScope from '../web/html-scope.ts';
import { accountPages } from './account/account.ts';
import { deletionPages } from './account/delete.ts';
import { organisationPages } from './account/organisations.ts';
import { createAccountMails } from './account-mails.ts';
import { findingPages } from './findings/routes.ts';
import { keyPages } from './api-keys/routes.ts';
import { knownIssuePages } from './known-issues/routes.ts';
import { creditPages } from './credits/routes.ts';
import { schedulePages } from './schedules/routes.ts';
import { createTrail } from './trail.ts';
import { auditPages } from './settings/audit-log.ts';
import { confirmPages } from './second-factor/confirm.ts';
import { createPasskeys, relyingPartyOf } from './second-factor/passkeys.ts';
import { passkeySignIn } from './second-factor/passkey-sign-in.ts';
import type { FactorDeps } from './second-factor/proof.ts';
import { factorPages } from './second-factor/routes.ts';
import { secondFactorSignIn } from './second-factor/sign-in.ts';
import { memberKeyPages } from './settings/member-keys.ts';
import { memberPages } from './settings/members.ts';
import { securityPages } from './settings/security.ts';
import { invitationRoutes } from './sign-in/invitation.ts';
import { resetRoutes } from './sign-in/reset-password.ts';
import { oidcRoutes } from './sign-in/oidc.ts';
import type { IdentityProvider } from '../accounts/sessions/identity-provider.ts';
import type { ScanPageDeps } from './routes/deps.ts';
import { scanActions } from './routes/scan-actions.ts';
import { scanListPages } from './routes/scan-list.ts';
import { scanPages } from './routes/scan.ts';
import { signInRoutes, type SignInDeps } from './sign-in/routes.ts';
import { sitePages } from './sites/routes.ts';
import { webhookPages } from './webhooks/routes.ts';
import type { WebhookManagementDeps } from '../webhooks/management.ts';

export interface DashboardDeps {
  stores: ApiStores;
  /** For the pages before sign-in. */
  anonymous: ApiStores;
  now: () => Date;
  logger: Logger;
  scans: ScanPageDeps;
  webhooks: Pick<WebhookManagementDeps, 'webhooksOn' | 'targets' | 'resolver'>;
  signIn: Pick<SignInDeps, 'provider' | 'local' | 'limits'>;
  /** Null if none is configured. */
  identityProvider: IdentityProvider | null;
  /** Whether this service sends mail. */
  mail: boolean;
}

/** Registers every page of the dashboard. */
export async function dashboardRoutes(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  await app.register(htmlScope);
  const { anonymous: stores, now, logger, mail } = deps;
  const mails = mail ? createAccountMails({ outbox: deps.stores.outbox, now, logger }) : null;
  const { organisations } = deps.stores;
  app.decorate('trail', createTrail({ organisations, failures: stores.signInFailures, mails, logger }));
  const factors = factorDeps(app, stores, logger);
  const passkeySignInOffered = deps.signIn.local && factors.passkeys.available;
  await app.register(signInRoutes, { stores: deps.stores, anonymous: stores, passkeys: passkeySignInOffered, ...deps.signIn });
  if (deps.signIn.local) await app.register(secondFactorSignIn, factors);
  if (passkeySignInOffered) await app.register(passkeySignIn, factors);
  if (deps.identityProvider !== null) await app.register(oidcRoutes, { stores, logger, identityProvider: deps.identityProvider });
  await app.register(invitationRoutes, { stores, logger, ...deps.signIn });
  if (deps.signIn.local) await app.register(resetRoutes, { stores, logger, mail });
  await app.register((scope) => ownPages(scope, deps));
  await app.register((scope) => signedInPages(scope, deps));
}

function factorDeps({ web }: FastifyInstance, stores: ApiStores, logger: Logger): FactorDeps {
  return { stores, passkeys: createPasskeys(relyingPartyOf(web.publicBaseUrl), stores.passkeyChallenges), logger };
}

/** The pages of a user's own account, which need no organisation. They use only the stores of `ownStoresOf`. */
async function ownPages(scope: FastifyInstance, { stores, now, logger, mail, signIn }: DashboardDeps): Promise<void> {
  await scope.register(requireSession, { organisation: false });
  await scope.register(permissions);
  await scope.register(accountPages, { stores, local: signIn.local, mail, logger });
  await scope.register(organisationPages, { stores, logger });
  await scope.register(deletionPages, { stores, logger });
  const factors = factorDeps(scope, stores, logger);
  await scope.register(factorPages, { ...factors, local: signIn.local, now });
  await scope.register(confirmPages, { ...factors, provider: signIn.provider });
}

/**
 * The pages of an organisation. Each route says in `config.permission` what it requires, reads the caller with `callerOf`, and
 * uses only the stores of `storesOf`. Forms contain `csrfField(request)`.
 */
async function signedInPages(scope: FastifyInstance, { stores, now, logger, scans, mail, webhooks }: DashboardDeps): Promise<void> {
  await scope.register(requireSession);
  await scope.register(permissions);
  await scope.register(securityPages, { stores, now, logger });
  await scope.register(memberPages, { outbox: mail ? stores.outbox : null, rateLimits: stores.rateLimits, logger });
  await scope.register(memberKeyPages, { now, logger });
  await scope.register(auditPages);
  await scope.register(keyPages, { rateLimits: stores.rateLimits, now, logger });
  await scope.register(webhookPages, { ...webhooks, now, logger });
  await scope.register(creditPages);
  await scope.register(schedulePages, { resources: stores.scheduleResources, scans, logger, now });
  await scope.register(knownIssuePages, { pictures: scans.pictures, now, logger });
  await scope.register(sitePages);
  await scope.register(scanListPages);
  await scope.register(scanPages, scans);
  await scope.register(findingPages, scans);
  await scope.register(scanActions, scans);
}
