/** Recipients of mails who have no account: an owner adds them, and each must agree before anything else is sent. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isEmailAddress } from '../../../core/email-address.ts';
import { readerOf } from '../../../core/reader.ts';
import { LOCALES } from '../../../core/scan/locales.ts';
import { MEMBERS_PATH, RECIPIENTS_PATH, recipientPath } from '../../../core/web-paths.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { CONSENT_DAYS, type MailTopic, RECIPIENTS_MAX, siteTopic, type Subscription } from '../../../stores/outbox/subscriptions.ts';
import { recordChange, storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { topicText } from '../../outbox/mail-contents.ts';
import { button, checkbox, dateAndTime, type FormError, notice, table, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { csrfField, doneOf, emailField, errorOf, languageField, noMail, postForm, titledPage, wrongEmail } from '../forms.ts';
import { isMember, tooManyInvitations } from './members.ts';
import { t } from '../../web/texts.ts';

const CONFIG = { permission: 'members:write' } as const;
const done = (): Readonly<Record<string, string>> => ({
  added: t`The service asks the recipient by mail. Nothing else is sent before the recipient agrees, within ${CONSENT_DAYS} days.`,
  removed: t`The recipient is removed, and gets no more mails.`,
});
const full = () => t`This address gets mails already, or there are ${RECIPIENTS_MAX} recipients.`;
const SITES_MAX = 20;

export const recipientPages: FastifyPluginAsync = async (scope) => {
  const { settings, stores, logger } = scope;

  async function show(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], status = 200): Promise<FastifyReply> {
    const list = await storesOf(request).subscriptions.recipients();
    return reply.page(recipientsPage(request, list, errors), { status });
  }

  scope.get(RECIPIENTS_PATH, { config: CONFIG }, (request, reply) => show(request, reply));

  scope.post(RECIPIENTS_PATH, { config: CONFIG }, async (request, reply) => {
    if (!settings.mail) return show(request, reply, [{ field: null, text: noMail() }], 422);
    const { subscriptions, sites } = storesOf(request);
    const { organisation } = callerOf(request);
    const form = formOf(request.body);
    const email = form.text('email').toLowerCase();
    const hosts = form.text('sites').toLowerCase().split(/[\s,]+/).filter((one) => one !== ''); // prettier-ignore
    const errors: FormError[] = [];
    if (!isEmailAddress(email)) errors.push({ field: 'email', text: wrongEmail() });
    if (await isMember(request, email))
      errors.push({ field: 'email', text: t`This address belongs to a member, who chooses mails on the account page.` });
    if (hosts.length > SITES_MAX) errors.push({ field: 'sites', text: t`Enter at most ${SITES_MAX} sites.` });
    for (const host of hosts.slice(0, SITES_MAX))
      if ((await sites.of(host)).groups.length === 0) errors.push({ field: 'sites', text: t`${host} is no site of this organisation.` });
    const topics: MailTopic[] = [...(form.text('weekly') === '' ? [] : ['weekly' as const]), ...new Set(hosts.map(siteTopic))];
    if (topics.length === 0) errors.push({ field: 'sites', text: t`Choose the weekly summary, or enter a site.` });
    if (errors.length > 0) return show(request, reply, errors, 422);
    const tooMany = await tooManyInvitations(request, reply, email);
    if (tooMany !== null) return show(request, reply, [tooMany], 429);
    const addedBy = request.viewer!.email;
    const { locale, timeZone } = readerOf({ locale: LOCALES.find((one) => one === form.text('locale')) ?? null, timeZone: null });
    const added = await subscriptions.add({ email, topics, recipient: { addedBy, locale, timeZone } });
    if (added === null) return show(request, reply, [{ field: null, text: full() }], 409);
    const url = scope.web.publicBaseUrl + recipientPath(added.token);
    const data = { organisation: organisation.displayName, invitedBy: addedBy, topics, url, expiresAt: added.expiresAt.toISOString() };
    const id = `recipient-consent:${added.id}:${added.expiresAt.getTime()}`;
    await stores.outbox.enqueue({ id, kind: 'recipient_consent', organisation: organisation.id, to: email, locale, data });
    await recordChange(request, logger, { action: 'recipient.add', subject: email });
    return reply.redirect(`${RECIPIENTS_PATH}?done=added`, 303);
  });

  scope.post(`${RECIPIENTS_PATH}/remove`, { config: CONFIG }, async (request, reply) => {
    const removed = await storesOf(request).subscriptions.removeRecipient(formOf(request.body).text('id'));
    if (removed === null) throw new ApiError('not_found');
    await recordChange(request, logger, { action: 'recipient.remove', subject: removed.email });
    return reply.redirect(`${RECIPIENTS_PATH}?done=removed`, 303);
  });
};

function recipientsPage(request: FastifyRequest, list: readonly Subscription[], errors: readonly FormError[]): Html {
  const rows = list.map(({ id, email, topics, recipient, expiresAt }) => [
    email,
    html`${topics.map((topic, at) => html`${at > 0 && html`<br />`}${topicText(topic, currentLocale())}`)}`,
    expiresAt === undefined ? t`Agreed on ${dateAndTime(recipient!.agreedAt!)}` : t`Asked, until ${dateAndTime(expiresAt)}`,
    postForm(request, `${RECIPIENTS_PATH}/remove`, button({ text: t`Remove`, kind: 'quiet', hiddenText: email }), { id }),
  ]);
  const columns = [{ text: t`Address` }, { text: t`Mails`, wide: true }, { text: t`Consent` }, { text: t`Remove`, hidden: true }];
  return titledPage({
    request,
    title: t`Recipients without an account`,
    active: 'members',
    trail: [{ text: t`Members`, href: MEMBERS_PATH }],
    errors,
    done: doneOf(request, done()),
    body: html`<p class="lead">${t`They get mails about this organisation after they have agreed, and can end them at any time.`}</p>
      ${list.length > 0 && table({ id: 'recipients', caption: t`Recipients`, captionHidden: true, columns, rows })}
      ${request.server.settings.mail ? additionForm(request, errors) : notice({ kind: 'warn', body: noMail() })}`,
  });
}

function additionForm(request: FastifyRequest, errors: readonly FormError[]): Html {
  const form = formOf(request.body);
  const sites = {
    name: 'sites',
    label: t`Sites`,
    hint: t`A mail when a schedule of one of these hosts gets worse, such as shop.example.`,
    width: 'medium',
  } as const;
  return html`<h2>${t`Add a recipient`}</h2>
    <form method="post" action="${RECIPIENTS_PATH}" novalidate>
      ${csrfField(request)} ${emailField(errors, { value: form.text('email'), autocomplete: 'off', width: 'medium' })}
      ${languageField(form.text('locale') || currentLocale())}
      ${checkbox({ name: 'weekly', label: t`A summary of all sites on Monday`, checked: form.text('weekly') !== '' })}
      ${textField({ ...sites, value: form.text('sites'), error: errorOf(errors, 'sites') })} ${button({ text: t`Ask for consent`, kind: 'primary' })}
    </form>`;
}
