/** The dashboard: the pages before sign-in, and those of signed-in users. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { ApiStores, Settings } from '../dependencies.ts';
import permissions from '../http/plugins/permissions.ts';
import requireSession from '../accounts/sessions/require-session.ts';
import htmlScope from '../web/html-scope.ts';
import { accountPages } from './account/account.ts';
import { deletionPages } from './account/delete.ts';
import { organisationPages } from './account/organisations.ts';
import { createAccountMails, createTrail } from './audit.ts';
import { findingPages } from './findings/page.ts';
import { keyPages } from './settings/api-keys.ts';
import { knownIssuePages } from './known-issues/routes.ts';
import { creditPages } from './credits.ts';
import { schedulePages } from './schedules/routes.ts';
import { auditPages } from './settings/audit-log.ts';
import { confirmPages } from './second-factor/confirm.ts';
import { createPasskeys, relyingPartyOf } from './second-factor/passkeys.ts';
import { passkeySignIn, secondFactorSignIn } from './second-factor/sign-in.ts';
import type { FactorDeps } from './second-factor/proof.ts';
import { factorPages } from './second-factor/routes.ts';
import { memberKeyPages } from './settings/api-key-pages.ts';
import { memberPages } from './settings/members.ts';
import { securityPages } from './settings/security.ts';
import { invitationRoutes } from './sign-in/invitation.ts';
import { resetRoutes } from './sign-in/reset-password.ts';
import { oidcRoutes } from './sign-in/oidc.ts';
import type { ScanPageDeps } from './scans/deps.ts';
import { scanActions } from './scans/actions.ts';
import { scanListPages } from './scans/list.ts';
import { scanPages } from './scans/routes.ts';
import { type SignInDeps, signInRoutes } from './sign-in/password.ts';
import { sitePages } from './sites/routes.ts';
import { webhookPages } from './settings/webhooks.ts';

/** How users sign in. */
function signInOf({ identityProvider }: Settings): Pick<SignInDeps, 'provider' | 'local'> {
  if (identityProvider === null) return { provider: null, local: true };
  return { provider: `Sign in with ${identityProvider.name}`, local: identityProvider.localPasswords };
}

/** Registers every page of the dashboard. */
export async function dashboardRoutes(app: FastifyInstance): Promise<void> {
  await app.register(htmlScope);
  // The pages before sign-in use connections of their own.
  const { anonymousStores: stores, identityProvider, now, logger } = app;
  const { mail } = app.settings;
  const signIn = signInOf(app.settings);
  const mails = mail ? createAccountMails({ outbox: app.stores.outbox, now, logger }) : null;
  const { organisations } = app.stores;
  app.decorate('trail', createTrail({ organisations, failures: stores.signInFailures, mails, logger }));
  const factors = factorDeps(app, stores, logger);
  const passkeySignInOffered = signIn.local && factors.passkeys.available;
  await app.register(signInRoutes, { stores: app.stores, anonymous: stores, passkeys: passkeySignInOffered, ...signIn });
  if (signIn.local) await app.register(secondFactorSignIn, factors);
  if (passkeySignInOffered) await app.register(passkeySignIn, factors);
  if (identityProvider !== null) await app.register(oidcRoutes, { stores, logger, identityProvider });
  await app.register(invitationRoutes, { stores, logger, ...signIn });
  if (signIn.local) await app.register(resetRoutes, { stores, logger, mail });
  await app.register(ownPages);
  await app.register(signedInPages);
}

function factorDeps({ web }: FastifyInstance, stores: ApiStores, logger: Logger): FactorDeps {
  return { stores, passkeys: createPasskeys(relyingPartyOf(web.publicBaseUrl), stores.passkeyChallenges), logger };
}

/** The pages of a user's own account, which need no organisation. They use only the stores of `ownStoresOf`. */
async function ownPages(scope: FastifyInstance): Promise<void> {
  const { stores, now, logger, settings } = scope;
  const { mail } = settings;
  const signIn = signInOf(settings);
  await scope.register(requireSession, { organisation: false });
  await scope.register(permissions);
  await scope.register(accountPages, { stores, local: signIn.local, mail, logger });
  await scope.register(organisationPages);
  await scope.register(deletionPages);
  const factors = factorDeps(scope, stores, logger);
  await scope.register(factorPages, { ...factors, local: signIn.local, now });
  await scope.register(confirmPages, { ...factors, provider: signIn.provider });
}

/**
 * The pages of an organisation. Each route says in `config.permission` what it requires, reads the caller with `callerOf`, and
 * uses only the stores of `storesOf`. Forms contain `csrfField(request)`.
 */
async function signedInPages(scope: FastifyInstance): Promise<void> {
  const { stores, now, logger } = scope;
  const scans = scanPageDeps(scope);
  await scope.register(requireSession);
  await scope.register(permissions);
  await scope.register(securityPages);
  await scope.register(memberPages);
  await scope.register(memberKeyPages);
  await scope.register(auditPages);
  await scope.register(keyPages);
  await scope.register(webhookPages);
  await scope.register(creditPages);
  await scope.register(schedulePages, { resources: stores.scheduleResources, scans, logger, now });
  await scope.register(knownIssuePages);
  await scope.register(sitePages);
  await scope.register(scanListPages);
  await scope.register(scanPages, scans);
  await scope.register(findingPages, scans);
  await scope.register(scanActions, scans);
}

/** What the pages of scans use of the app. */
function scanPageDeps(app: FastifyInstance): ScanPageDeps {
  const { stores, settings } = app;
  return {
    ...settings,
    submissions: app.submissions,
    positions: app.queuePositions,
    streams: app.eventStreams,
    pictures: app.scanViews,
    reports: stores.reports,
    rateLimits: stores.rateLimits,
    comparisons: app.comparisons,
    metrics: app.metrics,
    logger: app.logger,
    newId: randomUUID,
  };
}
