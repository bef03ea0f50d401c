/** The dashboard: the pages before sign-in, and those of signed-in users. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { ApiStores } from '../dependencies.ts';
import permissions from '../plugins/permissions.ts';
import requireSession from '../sessions/require-session.ts';
import htmlScope from '../web/html-scope.ts';
import { accountPages } from './account.ts';
import { keyPages } from './api-keys/routes.ts';
import { creditPages } from './credits/routes.ts';
import { schedulePages } from './schedules/routes.ts';
import { createRecorder } from './record.ts';
import { auditPages } from './settings/audit-log.ts';
import { confirmPages } from './second-factor/confirm.ts';
import { createPasskeys, relyingPartyOf } from './second-factor/passkeys.ts';
import { passkeySignIn } from './second-factor/passkey-sign-in.ts';
import type { FactorDeps } from './second-factor/proof.ts';
import { factorPages } from './second-factor/routes.ts';
import { secondFactorSignIn } from './second-factor/sign-in.ts';
import { memberPages } from './settings/members.ts';
import { securityPages } from './settings/security.ts';
import { invitationRoutes } from './sign-in/invitation.ts';
import { resetRoutes } from './sign-in/reset-password.ts';
import { oidcRoutes } from './sign-in/oidc.ts';
import type { IdentityProvider } from '../sessions/identity-provider.ts';
import type { ScanPageDeps } from './routes/deps.ts';
import { scanActions } from './routes/scan-actions.ts';
import { scanListPages } from './routes/scan-list.ts';
import { scanPages } from './routes/scan.ts';
import { signInRoutes, type SignInDeps } from './sign-in/routes.ts';

export interface DashboardDeps {
  stores: ApiStores;
  clock: () => Date;
  logger: Logger;
  scans: ScanPageDeps;
  signIn: Pick<SignInDeps, 'provider' | 'local' | 'limits'>;
  /** Null if none is configured. */
  identityProvider: IdentityProvider | null;
  /** Whether this service sends mail. */
  mail: boolean;
}

/** Registers every page of the dashboard. */
export async function dashboardRoutes(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  await app.register(htmlScope);
  const { stores, logger, mail } = deps;
  const passkeys = createPasskeys(relyingPartyOf(app.web.publicBaseUrl), stores.passkeyChallenges);
  const factors: FactorDeps = { stores, passkeys, logger };
  const passkeySignInOffered = deps.signIn.local && passkeys.available;
  await app.register(signInRoutes, { stores, passkeys: passkeySignInOffered, ...deps.signIn });
  if (deps.signIn.local) await app.register(secondFactorSignIn, factors);
  if (passkeySignInOffered) await app.register(passkeySignIn, factors);
  if (deps.identityProvider !== null) await app.register(oidcRoutes, { stores, logger, identityProvider: deps.identityProvider });
  await app.register(invitationRoutes, { stores, logger, ...deps.signIn });
  if (deps.signIn.local) await app.register(resetRoutes, { stores, logger, mail });
  await app.register((scope) => signedInPages(scope, deps, factors));
}

/**
 * The pages of signed-in users. Each route says in `config.permission` what it requires, reads the caller with `callerOf`, and
 * uses only the stores of `storesOf`. Forms contain `csrfField(request)`.
 */
async function signedInPages(
  scope: FastifyInstance,
  { stores, clock, logger, scans, mail, signIn }: DashboardDeps,
  factors: FactorDeps,
): Promise<void> {
  await scope.register(requireSession);
  await scope.register(permissions);
  const record = createRecorder({ organisations: stores.organisations, logger });
  await scope.register(accountPages, { stores, local: signIn.local, record });
  await scope.register(factorPages, { ...factors, local: signIn.local, clock, record });
  await scope.register(confirmPages, { ...factors, provider: signIn.provider });
  await scope.register(securityPages, { stores, clock, record });
  await scope.register(memberPages, { outbox: mail ? stores.outbox : null, rateLimits: stores.rateLimits, record, logger });
  await scope.register(auditPages);
  await scope.register(keyPages, { rateLimits: stores.rateLimits, clock, logger });
  await scope.register(creditPages);
  await scope.register(schedulePages, { clock });
  await scope.register(scanListPages);
  await scope.register(scanPages, scans);
  await scope.register(scanActions, scans);
}
