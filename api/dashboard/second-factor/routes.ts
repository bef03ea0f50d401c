/** A user's second factors: passkeys, an authenticator app, recovery codes. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import { PASSKEY_NAME_MAX, PASSKEYS_MAX, type SecondFactor } from '../../../stores/accounts/second-factor-steps.ts';
import type { Factors } from '../../../stores/accounts/second-factors.ts';
import { lacksFactor } from '../../../stores/accounts/sessions.ts';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import type { FormError } from '../../web/components.ts';
import { doneOf, signInOf } from '../forms.ts';
import { recordForUser, shownBrowser } from '../audit.ts';
import { startSession } from '../sign-in/start-session.ts';
import { formOf } from '../../web/html-scope.ts';
import { ApiError } from '../../http/errors.ts';
import { requireReauthentication } from './confirm.ts';
import { overviewPage } from './overview.ts';
import { APP_PATH, appPage, CODES_PATH, codesPage, NAME, NEW_PASSKEY_PATH, newPasskeyPage, passkeyPage, removeAppPage } from './pages.ts';
import { passkeysOf } from './passkeys.ts';
import { CODE, CREDENTIAL } from './proof.ts';
import { m, t, tr } from '../../web/texts.ts';

export const CONFIG = { permission: null } as const;
const DONE: Readonly<Record<string, string>> = {
  passkey: m`The passkey was added.`,
  renamed: m`The passkey was renamed.`,
  removed: m`The second factor was removed.`,
  app: m`The authenticator app is set up.`,
};
export const KEEP_ONE = (): string => t`An organisation of yours requires a second factor. Add another one before you remove this one.`;

export const emailOf = (request: FastifyRequest): string => request.viewer!.email;
export const accountOf = (request: FastifyRequest) => signedInOf(request).user;

/** Whether the account has one factor. */
export const isLast = ({ passkeys, totp }: Factors): boolean => passkeys.length + (totp === null ? 0 : 1) === 1;

/** Whether an organisation of the account requires a factor, whichever the session acts for. */
export const keepOne = async (request: FastifyRequest): Promise<boolean> =>
  (await ownStoresOf(request).organisations()).some(({ organisation, confirmed }) => confirmed && organisation.requireSecondFactor);

const mayHave = (request: FastifyRequest): boolean => signInOf(request.server).local && accountOf(request).hasPassword;

const record = (request: FastifyRequest, action: string, subject: string | null): Promise<void> =>
  recordForUser(request, emailOf(request), { action, subject });

/** Only accounts with a password have factors here. Changes need a proof of the last minutes. */
function changing(page?: (request: FastifyRequest) => string) {
  const reauthenticated = requireReauthentication(page);
  return {
    config: CONFIG,
    preHandler: async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
      mayHave(request) ? reauthenticated(request, reply) : reply.redirect(FACTORS_PATH, 303),
  };
}

async function overview(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], status = 200) {
  const { recovered } = request.query as { recovered?: string };
  const factors = await request.server.stores.secondFactors.find(emailOf(request));
  const page = overviewPage({
    request,
    factors,
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
  await startSession({ request, reply }, user, start);
  const done = factor === 'totp' ? 'app' : 'passkey';
  if (codes === null) return reply.redirect(`${FACTORS_PATH}?done=${done}`, 303);
  return reply.page(codesPage({ request, codes, added: tr(DONE[done]!) }), { status: 201 });
}

export const factorPages: FastifyPluginAsync = async (scope) => {
  scope.get(FACTORS_PATH, { config: CONFIG }, (request, reply) => overview(request, reply));
  await scope.register(passkeyPages);
  await scope.register(appPages);
};

const CODE_ERRORS = {
  wrong: 'This code is not correct. Check that the clock of your device is right, and that you entered the key completely.',
  used: 'This code was used before. Wait for the next one.',
} as const;

const appPages: FastifyPluginAsync = async (scope) => {
  const { secondFactors } = scope.stores;
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
    if (typed === '') return showApp(request, reply, [{ field: CODE, text: t`Enter the code that your app shows.` }], 422);
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
    if (!removed.ok && removed.reason === 'last_factor') return overview(request, reply, [{ field: null, text: KEEP_ONE() }], 409);
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

const ADD_ERRORS = {
  already_added: 'This passkey was added before.',
  too_many: `An account can have ${PASSKEYS_MAX} passkeys. Remove one first.`,
} as const;

const subjectOf = (request: FastifyRequest): string => `new-passkey:${signedInOf(request).session.id}`;
const pageOfPasskey = ({ url }: FastifyRequest): string => url.replace(/\/remove$/, '');

type ById = { Params: { id: string } };

const passkeyPages: FastifyPluginAsync = async (scope) => {
  const { secondFactors } = scope.stores;
  const passkeys = passkeysOf(scope);

  async function showNewPasskey(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], name?: string, status = 200) {
    const email = emailOf(request);
    const [{ passkeys: own }, handle] = [await secondFactors.find(email), await secondFactors.handleOf(email)];
    const options = await passkeys.creation({ email, handle, passkeys: own }, subjectOf(request));
    if (options === null) return reply.redirect(FACTORS_PATH, 303);
    return reply.page(newPasskeyPage({ request, options, name: name ?? shownBrowser(request.headers['user-agent'] ?? ''), errors }), {
      status,
    });
  }

  scope.get(NEW_PASSKEY_PATH, changing(), (request, reply) => showNewPasskey(request, reply));

  scope.post(NEW_PASSKEY_PATH, changing(), async (request, reply) => {
    const form = formOf(request.body);
    const name = form.text(NAME);
    const refuse = (error: FormError, status = 422) => showNewPasskey(request, reply, [error], name, status);
    const wrong = nameError(name);
    if (wrong !== null) return refuse(wrong);
    const passkey = await passkeys.readCreation(form.exact(CREDENTIAL), subjectOf(request));
    if (passkey === null)
      return refuse({ field: null, text: t`The passkey was not accepted, or the page was open for too long. Try again.` });
    const outcome = await secondFactors.addPasskey(accountOf(request), { ...passkey, name });
    if (outcome.ok) return added(request, reply, 'passkey', `passkey: ${name}`, outcome);
    // The session has ended.
    if (outcome.reason === 'not_found') return reply.redirect(FACTORS_PATH, 303);
    return refuse({ field: null, text: ADD_ERRORS[outcome.reason] }, 409);
  });

  async function showPasskey(request: FastifyRequest<ById>, reply: FastifyReply, errors: FormError[] = [], name?: string, status = 200) {
    const factors = await secondFactors.find(emailOf(request));
    const passkey = factors.passkeys.find(({ id }) => id === request.params.id);
    if (passkey === undefined) throw new ApiError('not_found');
    const usable = passkeys.usable([passkey]).length > 0;
    return reply.page(passkeyPage({ request, passkey, usable, last: isLast(factors), name, errors }), { status });
  }

  scope.get<ById>(`${FACTORS_PATH}/passkeys/:id`, { config: CONFIG }, (request, reply) => showPasskey(request, reply));

  scope.post<ById>(`${FACTORS_PATH}/passkeys/:id`, { config: CONFIG }, async (request, reply) => {
    const name = formOf(request.body).text(NAME);
    const wrong = nameError(name);
    if (wrong !== null) return showPasskey(request, reply, [wrong], name, 422);
    if (!(await secondFactors.renamePasskey(accountOf(request), request.params.id, name)).ok) throw new ApiError('not_found');
    await record(request, 'user.factor-rename', `passkey: ${name}`);
    return reply.redirect(`${FACTORS_PATH}?done=renamed`, 303);
  });

  scope.post<ById>(`${FACTORS_PATH}/passkeys/:id/remove`, changing(pageOfPasskey), async (request, reply) => {
    const { id } = request.params;
    const name = (await secondFactors.find(emailOf(request))).passkeys.find((one) => one.id === id)?.name ?? '';
    const removed = await secondFactors.removePasskey(accountOf(request), id, { keepOne: await keepOne(request) });
    if (!removed.ok && removed.reason === 'last_factor')
      return showPasskey(request, reply, [{ field: null, text: KEEP_ONE() }], undefined, 409);
    if (!removed.ok) throw new ApiError('not_found');
    await record(request, 'user.factor-remove', `passkey: ${name}`);
    return reply.redirect(`${FACTORS_PATH}?done=removed`, 303);
  });
};

function nameError(name: string): FormError | null {
  if (name === '') return { field: NAME, text: t`Give the passkey a name.` };
  return name.length > PASSKEY_NAME_MAX ? { field: NAME, text: t`Use at most ${PASSKEY_NAME_MAX} characters.` } : null;
}
