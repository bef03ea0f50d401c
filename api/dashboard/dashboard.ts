/** The dashboard: the pages before sign-in, and those of signed-in users. */
import type { FastifyInstance } from 'fastify';
import permissions from '../http/plugins/permissions.ts';
import requireSession from '../accounts/sessions/require-session.ts';
import htmlScope from '../web/html-scope.ts';
import reader from '../web/reader.ts';
import { accountPages } from './account/account.ts';
import { deletionPages } from './account/delete.ts';
import { mailPages } from './account/mails.ts';
import { organisationPages } from './account/organisations.ts';
import { signInOf } from './forms.ts';
import { findingPages } from './findings/page.ts';
import { keyPages } from './settings/api-keys.ts';
import { knownIssuePages } from './known-issues/routes.ts';
import { creditPages } from './credits.ts';
import { schedulePages } from './schedules/routes.ts';
import { auditPages } from './settings/audit-log.ts';
import { confirmPages } from './second-factor/confirm.ts';
import { passkeysOf } from './second-factor/passkeys.ts';
import { passkeySignIn, secondFactorSignIn } from './second-factor/sign-in.ts';
import { factorPages } from './second-factor/routes.ts';
import { leftBehindPages } from './settings/left-behind.ts';
import { memberPages } from './settings/members.ts';
import { recipientPages } from './settings/recipients.ts';
import { securityPages } from './settings/security.ts';
import { trackerPages } from './settings/tracker.ts';
import { invitationRoutes } from './sign-in/invitation.ts';
import { resetRoutes } from './sign-in/reset-password.ts';
import { oidcRoutes } from './sign-in/oidc.ts';
import { scanActions } from './scans/actions.ts';
import { scanListPages } from './scans/list.ts';
import { scanPages } from './scans/routes.ts';
import { signInRoutes } from './sign-in/password.ts';
import { siteDeletionPages } from './sites/delete.ts';
import { sitePages } from './sites/routes.ts';
import { webhookPages } from './settings/webhooks.ts';

/** Registers every page of the dashboard. */
export async function dashboardRoutes(app: FastifyInstance): Promise<void> {
  await app.register(htmlScope);
  await app.register(reader);
  await app.register(signInRoutes);
  await app.register(anonymousPages);
  await app.register(ownPages);
  await app.register(signedInPages);
}

/** The other pages before sign-in. They use connections of their own. */
async function anonymousPages(scope: FastifyInstance): Promise<void> {
  const { identityProvider, anonymousStores } = scope;
  const { local } = signInOf(scope);
  scope.decorate('stores', anonymousStores);
  if (local) await scope.register(secondFactorSignIn);
  if (local && passkeysOf(scope).available) await scope.register(passkeySignIn);
  if (identityProvider !== null) await scope.register(oidcRoutes, { identityProvider });
  await scope.register(invitationRoutes);
  if (local) await scope.register(resetRoutes);
}

/** The pages of a user's own account, which need no organisation. They use only the stores of `ownStoresOf`. */
async function ownPages(scope: FastifyInstance): Promise<void> {
  await scope.register(requireSession, { organisation: false });
  await scope.register(permissions);
  await scope.register(accountPages);
  await scope.register(organisationPages);
  await scope.register(deletionPages);
  await scope.register(factorPages);
  await scope.register(confirmPages);
}

/**
 * The pages of an organisation. Each route says in `config.permission` what it requires, reads the caller with `callerOf`, and
 * uses only the stores of `storesOf`. Forms contain `csrfField(request)`.
 */
async function signedInPages(scope: FastifyInstance): Promise<void> {
  await scope.register(requireSession);
  await scope.register(permissions);
  await scope.register(securityPages);
  await scope.register(trackerPages);
  await scope.register(memberPages);
  await scope.register(leftBehindPages);
  await scope.register(recipientPages);
  await scope.register(auditPages);
  await scope.register(keyPages);
  await scope.register(webhookPages);
  await scope.register(creditPages);
  await scope.register(schedulePages);
  await scope.register(knownIssuePages);
  await scope.register(sitePages);
  await scope.register(siteDeletionPages);
  await scope.register(mailPages);
  await scope.register(scanListPages);
  await scope.register(scanPages);
  await scope.register(findingPages);
  await scope.register(scanActions);
}
