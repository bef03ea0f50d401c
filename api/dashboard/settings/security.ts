/** Whether an organisation requires a second factor, and who has none. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../../http/plugins/auth.ts';
import { recordChange, storesOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import { button, type FormError, link } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { postForm, titledPage } from '../forms.ts';
import { requireReauthentication } from '../second-factor/confirm.ts';
import { t } from '../../web/texts.ts';

const PATH = '/dashboard/settings/security';
const PERMISSION = { config: { permission: 'members:write' } } as const;

export const securityPages: FastifyPluginAsync = async (scope) => {
  const { stores, logger } = scope;

  async function show(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], status = 200) {
    const members = await storesOf(request).members.list();
    const having = await stores.secondFactors.protected(members.map(({ email }) => email));
    const without = members.filter(({ email, hasPassword }) => hasPassword && !having.has(email)).map(({ email }) => email);
    const { requireSecondFactor } = callerOf(request).organisation;
    const saved = (request.query as { saved?: string }).saved !== undefined;
    return reply.page(securityPage({ request, required: requireSecondFactor, without, saved, errors }), { status });
  }

  scope.get(PATH, PERMISSION, (request, reply) => show(request, reply));

  scope.post(`${PATH}/second-factor`, { ...PERMISSION, preHandler: requireReauthentication(() => PATH) }, async (request, reply) => {
    const required = formOf(request.body).text('required') === 'yes';
    const { id } = callerOf(request).organisation;
    const { session } = signedInOf(request);
    if (required && session.method !== 'oidc' && session.secondFactor === null)
      return show(
        request,
        reply,
        [{ field: null, text: t`Set up a second factor for yourself first. Otherwise you would be locked out at once.` }],
        409,
      );
    await stores.organisations.setRequireSecondFactor(id, required);
    await recordChange(request, logger, { action: 'organisation.second-factor', subject: required ? 'required' : 'optional' });
    return reply.redirect(`${PATH}?saved`, 303);
  });
};

interface SecurityPage {
  request: FastifyRequest;
  required: boolean;
  /** The addresses of members who sign in with a password only. */
  without: readonly string[];
  saved: boolean;
  errors: readonly FormError[];
}

function securityPage({ request, required, without, saved, errors }: SecurityPage): Html {
  const { displayName } = callerOf(request).organisation;
  const submit = required ? { text: t`Make the second factor optional` } : ({ text: t`Require a second factor`, kind: 'primary' } as const);
  return titledPage({
    request,
    title: t`Security`,
    active: 'security',
    errors,
    done: saved ? t`The setting is saved.` : null,
    narrow: true,
    body: html`<h2>${t`Second factor`}</h2>
      <p>
        ${
          required
            ? t`${displayName} requires a second factor. People without one can only set one up.`
            : t`${displayName} does not require a second factor. If it does, people without one can only set one up.`
        }
        ${t`Sign-in at an identity provider counts as one. API keys are not affected.`}
      </p>
      ${without.length === 0 ? html`<p>${t`All members have one.`}</p>` : html`<p>${t`Without one:`}</p><ul>${without.map((email) => html`<li>${email}</li>`)}</ul>`}
      ${postForm(request, `${PATH}/second-factor`, button(submit), { required: required ? 'no' : 'yes' })}
      <p>${link(t`Your own second factors`, FACTORS_PATH)}</p>`,
  });
}
