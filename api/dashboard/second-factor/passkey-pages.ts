/** The pages of passkeys: add, rename and remove one. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { PASSKEY_NAME_MAX, PASSKEYS_MAX } from '../../../stores/accounts/second-factor-steps.ts';
import { ApiError } from '../../http/errors.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import type { FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { browserName } from '../browsers.ts';
import { accountOf, CONFIG, emailOf, isLast, KEEP_ONE, keepOne, type FactorSteps } from './factor-steps.ts';
import { NAME, NEW_PASSKEY_PATH, newPasskeyPage, passkeyPage } from './pages.ts';
import { CREDENTIAL, type FactorDeps } from './proof.ts';

const ADD_ERRORS = {
  already_added: 'This passkey was added before.',
  too_many: `An account can have ${PASSKEYS_MAX} passkeys. Remove one first.`,
} as const;

const subjectOf = (request: FastifyRequest): string => `new-passkey:${signedInOf(request).session.id}`;
const pageOfPasskey = ({ url }: FastifyRequest): string => url.replace(/\/remove$/, '');

type ById = { Params: { id: string } };

export const passkeyPages: FastifyPluginAsync<FactorDeps & { steps: FactorSteps }> = async (scope, { stores, passkeys, steps }) => {
  const { secondFactors } = stores;
  const { added, changing, record } = steps;

  async function showNewPasskey(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], name?: string, status = 200) {
    const email = emailOf(request);
    const [{ passkeys: own }, handle] = [await secondFactors.find(email), await secondFactors.handleOf(email)];
    const options = await passkeys.creation({ email, handle, passkeys: own }, subjectOf(request));
    if (options === null) return reply.redirect(FACTORS_PATH, 303);
    return reply.page(newPasskeyPage({ request, options, name: name ?? browserName(request.headers['user-agent'] ?? ''), errors }), {
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
      return refuse({ field: null, text: 'The passkey was not accepted, or the page was open for too long. Try again.' });
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
      return showPasskey(request, reply, [{ field: null, text: KEEP_ONE }], undefined, 409);
    if (!removed.ok) throw new ApiError('not_found');
    await record(request, 'user.factor-remove', `passkey: ${name}`);
    return reply.redirect(`${FACTORS_PATH}?done=removed`, 303);
  });
};

function nameError(name: string): FormError | null {
  if (name === '') return { field: NAME, text: 'Give the passkey a name.' };
  return name.length > PASSKEY_NAME_MAX ? { field: NAME, text: `Use at most ${PASSKEY_NAME_MAX} characters.` } : null;
}
