/** Recipients of mails who have no account: an owner adds them, and each must agree before anything else is sent. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isEmailAddress, mailboxOf } from '../../../core/email-address.ts';
import { readerOf } from '../../../core/reader.ts';
import { LOCALES } from '../../../core/scan/locales.ts';
import { MEMBERS_PATH, RECIPIENTS_PATH, recipientPath } from '../../../core/web-paths.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { CONSENT_DAYS, type MailTopic, RECIPIENTS_MAX, siteTopic, type Subscription } from '../../../stores/outbox/subscriptions.ts';
import { recordChange, storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { topicText } from '../../outbox/mail-contents.ts';
import { button, checkbox, type FormError, hiddenField, notice, selectField, table, textField, dateAndTime } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { csrfField, doneOf, emailField, errorOf, mustWait, noMail, titledPage } from '../forms.ts';
import { INVITATION_LIMIT, MAILBOX_INVITATION_LIMIT } from './members.ts';

const CONFIG = { permission: 'members:write' } as const;
const DONE: Readonly<Record<string, string>> = {
  added: `The service asks the recipient by mail. Nothing else is sent before the recipient agrees, within ${CONSENT_DAYS} days.`,
  removed: 'The recipient is removed, and gets no more mails.',
};
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
    const { members, subscriptions, sites } = storesOf(request);
    const { organisation } = callerOf(request);
    const form = formOf(request.body);
    const email = form.text('email').toLowerCase();
    const hosts = form.text('sites').toLowerCase().split(/[\s,]+/).filter((one) => one !== ''); // prettier-ignore
    const errors: FormError[] = [];
    if (!isEmailAddress(email)) errors.push({ field: 'email', text: 'Enter an e-mail address such as name@example.com.' });
    if ((await members.list()).some((one) => one.email === email))
      errors.push({ field: 'email', text: 'This address belongs to a member, who chooses mails on the account page.' });
    if (hosts.length > SITES_MAX) errors.push({ field: 'sites', text: `Enter at most ${SITES_MAX} sites.` });
    for (const host of hosts.slice(0, SITES_MAX))
      if ((await sites.of(host)).groups.length === 0) errors.push({ field: 'sites', text: `${host} is no site of this organisation.` });
    const topics: MailTopic[] = [...(form.text('weekly') === '' ? [] : ['weekly' as const]), ...new Set(hosts.map(siteTopic))];
    if (topics.length === 0) errors.push({ field: 'sites', text: 'Choose the weekly summary, or enter a site.' });
    if (errors.length > 0) return show(request, reply, errors, 422);
    const decision = await stores.rateLimits.admit([
      { policy: 'invitations', subject: organisation.id, ...INVITATION_LIMIT },
      { policy: 'invitation-mailbox', subject: mailboxOf(email), ...MAILBOX_INVITATION_LIMIT },
    ]);
    if (!decision.ok) return show(request, reply, [mustWait(reply, decision.retryAfterSeconds)], 429);
    const addedBy = request.viewer!.email;
    const { locale, timeZone } = readerOf({ locale: LOCALES.find((one) => one === form.text('locale')) ?? null, timeZone: null });
    const added = await subscriptions.add({ email, topics, recipient: { addedBy, locale, timeZone } });
    if (added === null)
      return show(
        request,
        reply,
        [{ field: null, text: `This address gets mails already, or there are ${RECIPIENTS_MAX} recipients.` }],
        409,
      );
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
    html`${topics.map((topic, at) => html`${at > 0 && html`<br />`}${topicText(topic, 'en')}`)}`,
    expiresAt === undefined ? html`Agreed on ${dateAndTime(recipient!.agreedAt!)}` : html`Asked, until ${dateAndTime(expiresAt)}`,
    html`<form method="post" action="${RECIPIENTS_PATH}/remove">
      ${csrfField(request)} ${hiddenField('id', id)} ${button({ text: 'Remove', kind: 'quiet', hiddenText: email })}
    </form>`,
  ]);
  return titledPage({
    request,
    title: 'Recipients without an account',
    active: 'members',
    trail: [{ text: 'Members', href: MEMBERS_PATH }],
    errors,
    done: doneOf(request, DONE),
    body: html`<p class="lead">They get mails about this organisation after they have agreed, and can end them at any time.</p>
      ${list.length > 0 && table({ id: 'recipients', caption: 'Recipients', captionHidden: true, columns: COLUMNS, rows })}
      ${request.server.settings.mail ? additionForm(request, errors) : notice({ kind: 'warn', body: noMail() })}`,
  });
}

const COLUMNS = [{ text: 'Address' }, { text: 'Mails', wide: true }, { text: 'Consent' }, { text: 'Remove', hidden: true }];

function additionForm(request: FastifyRequest, errors: readonly FormError[]): Html {
  const form = formOf(request.body);
  const languages = LOCALES.map((value) => ({ value, text: wordsIn(value, 'site').texts.name, lang: value }));
  const sites = {
    name: 'sites',
    label: 'Sites',
    hint: 'A mail when a schedule of one of these hosts gets worse, such as shop.example.',
    width: 'medium',
  } as const;
  return html`<h2>Add a recipient</h2>
    <form method="post" action="${RECIPIENTS_PATH}" novalidate>
      ${csrfField(request)} ${emailField(errors, { value: form.text('email'), autocomplete: 'off', width: 'medium' })}
      ${selectField({ name: 'locale', label: 'Language', required: true, value: form.text('locale') || 'en', choices: languages })}
      ${checkbox({ name: 'weekly', label: 'A summary of all sites on Monday', required: true, checked: form.text('weekly') !== '' })}
      ${textField({ ...sites, value: form.text('sites'), error: errorOf(errors, 'sites') })} ${button({ text: 'Ask for consent', kind: 'primary' })}
    </form>`;
}
