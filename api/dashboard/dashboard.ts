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
import { signInRoutes, type SignInDeps } from './sign-in/routes.ts';

export interface DashboardDeps {
  stores: ApiStores;
  clock: () => Date;
  logger: Logger;
  signIn: Pick<SignInDeps, 'provider' | 'local' | 'limits'>;
}

/** Registers every page of the dashboard. */
export async function dashboardRoutes(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  await app.register(htmlScope);
  await app.register(signInRoutes, { stores: deps.stores, ...deps.signIn });
  await app.register((scope) => signedInPages(scope, deps));
}

/**
 * The pages of signed-in users. Each route says in `config.permission` what it requires, reads the caller with `callerOf`, and
 * uses only the stores of `storesOf`. Forms contain `csrfField(request)`.
 */
async function signedInPages(scope: FastifyInstance, { stores, clock, logger }: DashboardDeps): Promise<void> {
  await scope.register(requireSession);
  await scope.register(permissions);
  await scope.register(accountPages);
  await scope.register(keyPages, { rateLimits: stores.rateLimits, clock, logger });
  await scope.register(creditPages);
  await scope.register(schedulePages, { clock });
}
