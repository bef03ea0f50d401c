/** What the pages of second factors share: who may change factors, what is recorded, and what follows a change. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SecondFactor } from '../../../stores/accounts/second-factor-steps.ts';
import type { Factors } from '../../../stores/accounts/second-factors.ts';
import { lacksFactor } from '../../../stores/accounts/sessions.ts';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import type { FormError } from '../../web/components/index.ts';
import { doneOf } from '../forms.ts';
import { recordForUser } from '../record.ts';
import { startSession } from '../sign-in/start-session.ts';
import { requireFresh } from './fresh.ts';
import { overviewPage } from './overview.ts';
import { codesPage } from './pages.ts';
import type { FactorDeps } from './proof.ts';

export interface FactorPagesDeps extends FactorDeps {
  /** Whether passwords are accepted. */
  local: boolean;
  now: () => Date;
}

export const CONFIG = { permission: null } as const;
const DONE: Readonly<Record<string, string>> = {
  passkey: 'The passkey was added.',
  renamed: 'The passkey was renamed.',
  removed: 'The second factor was removed.',
  app: 'The authenticator app is set up.',
};
export const KEEP_ONE = 'An organisation of yours requires a second factor. Add another one before you remove this one.';

export const emailOf = (request: FastifyRequest): string => request.viewer!.email;
export const accountOf = (request: FastifyRequest) => signedInOf(request).user;

/** Whether the account has one factor. */
export const isLast = ({ passkeys, totp }: Factors): boolean => passkeys.length + (totp === null ? 0 : 1) === 1;

/** Whether an organisation of the account requires a factor, whichever the session acts for. */
export const keepOne = async (request: FastifyRequest): Promise<boolean> =>
  (await ownStoresOf(request).organisations()).some(({ organisation, confirmed }) => confirmed && organisation.requireSecondFactor);

export type FactorSteps = ReturnType<typeof createFactorSteps>;

export function createFactorSteps({ stores, passkeys, local, now, logger }: FactorPagesDeps) {
  const mayHave = (request: FastifyRequest): boolean => local && accountOf(request).hasPassword;

  const record = (request: FastifyRequest, action: string, subject: string | null): Promise<void> =>
    recordForUser({ stores, logger }, request, emailOf(request), { action, subject });

  /** Only accounts with a password have factors here. Changes need a proof of the last minutes. */
  const changing = (page?: (request: FastifyRequest) => string) => {
    const fresh = requireFresh({ stores, now }, page);
    return {
      config: CONFIG,
      preHandler: async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
        mayHave(request) ? fresh(request, reply) : reply.redirect(FACTORS_PATH, 303),
    };
  };

  async function overview(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], status = 200) {
    const { recovered } = request.query as { recovered?: string };
    const factors = await stores.secondFactors.find(emailOf(request));
    const page = overviewPage({
      request,
      factors,
      passkeys,
      local: mayHave(request),
      lacking: lacksFactor(signedInOf(request)),
      recovered: recovered !== undefined && factors.recovery !== null,
      done: doneOf(request, DONE),
      errors,
    });
    return reply.page(page, { status });
  }

  /** What follows a new factor: the session has proved it, and the first one brings recovery codes. */
  async function added(
    request: FastifyRequest,
    reply: FastifyReply,
    factor: SecondFactor,
    name: string,
    { codes }: { codes: string[] | null },
  ) {
    await record(request, 'user.factor-add', name);
    const { user, session, membership } = signedInOf(request);
    const start = { method: session.method, secondFactor: factor, organisation: membership?.organisation.id };
    await startSession({ request, reply, stores }, user, start);
    const done = factor === 'totp' ? 'app' : 'passkey';
    if (codes === null) return reply.redirect(`${FACTORS_PATH}?done=${done}`, 303);
    return reply.page(codesPage({ request, codes, added: DONE[done]! }), { status: 201 });
  }

  return { changing, record, overview, added };
}
