/** A person's second factors: passkeys, an authenticator app, recovery codes. */
import type { FastifyPluginAsync } from 'fastify';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import { appPages } from './app-pages.ts';
import { CONFIG, createFactorSteps, type FactorPagesDeps } from './factor-steps.ts';
import { passkeyPages } from './passkey-pages.ts';

export const factorPages: FastifyPluginAsync<FactorPagesDeps> = async (scope, deps) => {
  const steps = createFactorSteps(deps);
  scope.get(FACTORS_PATH, { config: CONFIG }, (request, reply) => steps.overview(request, reply));
  await scope.register(passkeyPages, { ...deps, steps });
  await scope.register(appPages, { ...deps, steps });
};
