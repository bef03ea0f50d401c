/** Which mails a member gets about an organisation, and the button that watches a site. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { timeZoneOf } from '../../../core/schedule/cron/time-zone.ts';
import { preferredLocale, type Reader, readerOf } from '../../../core/reader.ts';
import { ACCOUNT_PATH, MAILS_PATH, sitePath } from '../../../core/web-paths.ts';
import {
  type MailTopic,
  PLAIN_TOPICS,
  siteOfTopic,
  siteTopic,
  type Subscription,
  WATCHED_MAX,
} from '../../../stores/outbox/subscriptions.ts';
import { ownStoresOf, storesOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { ApiError } from '../../http/errors.ts';
import { button, checkbox, choices, type FormError, link, notice } from '../../web/components.ts';
import { type Form, formOf } from '../../web/html-scope.ts';
import { attributes, html, type Html } from '../../../report/html/html.ts';
import { doneOf, noMail, postForm, titledPage } from '../forms.ts';
import { m, t, tr } from '../../web/texts.ts';

const CONFIG = { permission: 'scans:read' } as const;
const DONE = { saved: m`Your mails are changed.` };
const full = (): FormError => ({ field: null, text: t`You watch ${WATCHED_MAX} sites, which is the limit; stop watching one first.` });

export const mailPages: FastifyPluginAsync = async (scope) => {
  async function show(request: FastifyRequest, reply: FastifyReply, errors: FormError[] = [], status = 200) {
    const subscription = await ownSubscription(request);
    return reply.page(mailsPage(request, subscription, errors), { status });
  }

  scope.get(MAILS_PATH, { config: CONFIG }, (request, reply) => show(request, reply));

  scope.post(MAILS_PATH, { config: CONFIG }, async (request, reply) => {
    const form = formOf(request.body);
    const before = (await ownSubscription(request))?.topics ?? [];
    const wanted = new Set<string>(form.all('topic'));
    // Sites are watched on their pages.
    for (const topic of new Set<MailTopic>([...before, ...PLAIN_TOPICS]))
      if (wanted.has(topic) !== before.includes(topic)) await change(request, form, topic, wanted.has(topic));
    return reply.redirect(`${MAILS_PATH}?done=saved`, 303);
  });

  scope.post<{ Params: { site: string } }>('/dashboard/sites/:site/watch', { config: CONFIG }, async (request, reply) => {
    const site = request.params.site.toLowerCase();
    const form = formOf(request.body);
    const wanted = form.text('watch') === 'yes';
    if ((await storesOf(request).sites.of(site)).groups.length === 0) throw new ApiError('not_found');
    if (!(await change(request, form, siteTopic(site), wanted))) return show(request, reply, [full()], 409);
    return reply.redirect(sitePath(site), 303);
  });
};

/** @returns false if the person watches as many sites as allowed */
async function change(request: FastifyRequest, form: Form, topic: MailTopic, wanted: boolean): Promise<boolean> {
  const { user } = signedInOf(request);
  if (wanted && !mayGetMails(request)) throw new ApiError('not_found');
  // The first choice of mails says in which language and time zone they are, until the person changes it.
  if (wanted && (user.locale === null || user.timeZone === null)) await ownStoresOf(request).setReader(guessedReader(request, form));
  return storesOf(request).subscriptions.set(user.email, topic, wanted);
}

/** What a person reads who has not chosen it yet, as the browser says. */
export function guessedReader(request: FastifyRequest, form?: Form): Reader {
  const { locale, timeZone } = signedInOf(request).user;
  const zone = form?.text('time_zone') ?? '';
  const found = timeZone ?? (timeZoneOf(zone) === null ? null : zone);
  return readerOf({ locale: locale ?? preferredLocale(request.headers['accept-language']), timeZone: found });
}

const ownSubscription = (request: FastifyRequest): Promise<Subscription | null> =>
  storesOf(request).subscriptions.find(signedInOf(request).user.email);

/** Mails about results go only to people who have proved that the address is theirs. */
const mayGetMails = (request: FastifyRequest): boolean => request.server.settings.mail && signedInOf(request).user.verified;

function whyNot(request: FastifyRequest): Html {
  const { settings } = request.server;
  if (!settings.mail) return html`${noMail()}`;
  return t`Your address is not verified: ${link(t`see your account`, ACCOUNT_PATH)}.`;
}

const LABELS: Readonly<Record<(typeof PLAIN_TOPICS)[number], string>> = {
  own_scans: m`When a scan that I started in the dashboard has ended`,
  weekly: m`A summary of all sites on Monday at 08:00, if one was scanned`,
};

/** The time zone of the browser, which a script enters. */
const zoneField = (): Html => html`<input${attributes({ type: 'hidden', name: 'time_zone', value: '', 'data-zone': true })}>`;

function mailsPage(request: FastifyRequest, subscription: Subscription | null, errors: readonly FormError[]): Html {
  const { displayName } = callerOf(request).organisation;
  const topics = subscription?.topics ?? [];
  const sites = topics.filter((topic) => siteOfTopic(topic) !== null);
  const form = html`${zoneField()}
    ${PLAIN_TOPICS.map((value) => checkbox({ name: 'topic', id: value, value, label: tr(LABELS[value]), checked: topics.includes(value) }))}
    ${
      sites.length > 0 &&
      choices({
        type: 'checkbox',
        name: 'topic',
        id: 'sites',
        label: t`When a schedule of a site that I watch got worse`,
        values: sites,
        choices: sites.map((value) => ({ value, text: siteOfTopic(value)! })),
      })
    }
    ${sites.length === 0 && html`<p>${t`You watch no site. The page of a site has the button.`}</p>`} ${button({ text: t`Save`, kind: 'primary' })}`;
  return titledPage({
    request,
    title: t`Mails`,
    active: 'account',
    trail: [{ text: t`Account`, href: ACCOUNT_PATH }],
    errors,
    done: doneOf(request, DONE),
    narrow: true,
    body: html`<p class="lead">${t`About ${displayName}. Each mail has a link that ends mails of its kind.`}</p>
      ${mayGetMails(request) ? postForm(request, MAILS_PATH, form) : notice({ kind: 'warn', body: t`You get no mails. ${whyNot(request)}` })}`,
  });
}

/** Begins or ends mails about schedules of a site. */
export async function watchPart(request: FastifyRequest, site: string): Promise<Html> {
  if (!mayGetMails(request)) return html`<p class="soft">${t`You cannot get mails about this site. ${whyNot(request)}`}</p>`;
  const watched = (await ownSubscription(request))?.topics.includes(siteTopic(site)) ?? false;
  const form = html`${zoneField()}
    <p>
      ${watched ? t`You get a mail when a schedule of this site gets worse.` : t`Get a mail when a schedule of this site gets worse.`}
      ${link(t`All your mails`, MAILS_PATH)}
    </p>
    ${button({ text: watched ? t`Stop watching` : t`Watch this site` })}`;
  return postForm(request, `${sitePath(site)}/watch`, form, { watch: watched ? 'no' : 'yes' });
}
