/** The pages of the authenticator app and of recovery codes. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import type { FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { accountOf, emailOf, isLast, KEEP_ONE, keepOne, type FactorSteps } from './factor-steps.ts';
import { APP_PATH, appPage, CODES_PATH, codesPage, removeAppPage } from './pages.ts';
import { CODE, type FactorDeps } from './proof.ts';

const CODE_ERRORS = {
  wrong: 'This code is not correct. Check that the clock of your device is right, and that you entered the key completely.',
  used: 'This code was used before. Wait for the next one.',
} as const;

export const appPages: FastifyPluginAsync<FactorDeps & { steps: FactorSteps }> = async (scope, { stores, steps }) => {
  const { secondFactors } = stores;
  const { added, changing, overview, record } = steps;
  const changingThenOverview = changing(() => FACTORS_PATH);

  scope.post(`${APP_PATH}/begin`, changingThenOverview, async (request, reply) => {
    await secondFactors.beginTotp(accountOf(request));
    return reply.redirect(APP_PATH, 303);
  });

  async function showApp(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], status = 200) {
    const secret = await secondFactors.waitingTotp(emailOf(request));
    return secret === null ? reply.redirect(FACTORS_PATH, 303) : reply.page(appPage({ request, secret, errors }), { status });
  }

  scope.get(APP_PATH, changing(), (request, reply) => showApp(request, reply));

  scope.post(APP_PATH, changing(), async (request, reply) => {
    const typed = formOf(request.body).text(CODE);
    if (typed === '') return showApp(request, reply, [{ field: CODE, text: 'Enter the code that your app shows.' }], 422);
    const outcome = await secondFactors.confirmTotp(accountOf(request), typed);
    if (outcome.ok) return added(request, reply, 'totp', 'authenticator app', outcome);
    // It was confirmed by another request, it is too old, or the session has ended.
    if (outcome.reason === 'not_found') return reply.redirect(FACTORS_PATH, 303);
    return showApp(request, reply, [{ field: CODE, text: CODE_ERRORS[outcome.reason] }], 422);
  });

  scope.get(`${APP_PATH}/removal`, changing(), async (request, reply) => {
    const factors = await secondFactors.find(emailOf(request));
    return factors.totp === null ? reply.redirect(FACTORS_PATH, 303) : reply.page(removeAppPage({ request, last: isLast(factors) }));
  });

  scope.post(`${APP_PATH}/removal`, changing(), async (request, reply) => {
    const removed = await secondFactors.removeTotp(accountOf(request), { keepOne: await keepOne(request) });
    if (!removed.ok && removed.reason === 'last_factor') return overview(request, reply, [{ field: null, text: KEEP_ONE }], 409);
    if (removed.ok) await record(request, 'user.factor-remove', 'authenticator app');
    return reply.redirect(`${FACTORS_PATH}?done=removed`, 303);
  });

  scope.post(CODES_PATH, changingThenOverview, async (request, reply) => {
    const replaced = await secondFactors.replaceRecovery(accountOf(request));
    if (!replaced.ok) return reply.redirect(FACTORS_PATH, 303);
    await record(request, 'user.recovery-codes', null);
    return reply.page(codesPage({ request, codes: replaced.codes, added: null }), { status: 201 });
  });
};
