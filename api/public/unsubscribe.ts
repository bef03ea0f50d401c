/**
 * The page of an unsubscribe link, and the one-click button of mail programs (RFC 8058). The token in the address is the
 * permission, so neither needs a session. A GET changes nothing, because mail scanners open links.
 */
import { DEFAULT_LOCALE } from '../../core/scan/locales.ts';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { wordsIn } from '../../report/words/words.ts';
import { readerOf } from '../../core/reader.ts';
import { stopMailsPath, unsubscribePath } from '../../core/web-paths.ts';
import { isTopic, type MailTopic, type Subscription } from '../../stores/outbox/subscriptions.ts';
import type { Recipient } from '../../stores/outbox/suppressions.ts';
import { topicText } from '../outbox/mail-contents.ts';
import { button } from '../../report/html/elements.ts';
import { notice } from '../web/components.ts';
import { html, type Html } from '../../report/html/html.ts';
import htmlScope, { formOf } from '../web/html-scope.ts';
import { publicPage } from '../web/layout.ts';

interface Route {
  Params: { token: string };
}
interface TopicRoute {
  Params: { token: string; topic: string };
}

/** The field that mail programs send. */
const ONE_CLICK = 'List-Unsubscribe';

export const unsubscribeRoutes: FastifyPluginAsync = async (app) => {
  const { suppressions, subscriptions } = app.anonymousStores;
  await app.register(htmlScope);
  // RFC 8058 permits this encoding, too. Its only content is the field.
  app.addContentTypeParser('multipart/form-data', { parseAs: 'string', bodyLimit: 4096 }, (_request, body, done) => {
    done(null, body.includes(ONE_CLICK) ? { [ONE_CLICK]: 'One-Click' } : {});
  });

  const limited = { network: 'links' } as const;
  app.get<Route>('/unsubscribe/:token', { config: limited }, async (request, reply) => {
    const recipient = await suppressions.recipient(request.params.token);
    return recipient === null ? unknown(request, reply) : reply.page(page(request, recipient));
  });

  // The token is the permission. The page of a mail program may send the one-click form from another site.
  app.post<Route>('/unsubscribe/:token', { config: { ...limited, crossSite: true } }, async (request, reply) => {
    const { token } = request.params;
    const form = formOf(request.body);
    const again = form.text('action') === 'subscribe';
    const recipient = await (again ? suppressions.resubscribe(token) : suppressions.unsubscribe(token));
    if (recipient === null) return unknown(request, reply);
    if (form.text(ONE_CLICK) !== '') return reply.type('text/plain').send('unsubscribed\n');
    return reply.redirect(unsubscribePath(token), 303);
  });

  app.get<TopicRoute>('/unsubscribe/:token/:topic', { config: limited }, async (request, reply) => {
    const { token, topic } = request.params;
    const found = await subscriptions.findByToken(token);
    return found === null || !isTopic(topic) ? unknown(request, reply) : reply.page(await topicPage(request, found, topic));
  });

  app.post<TopicRoute>('/unsubscribe/:token/:topic', { config: { ...limited, crossSite: true } }, async (request, reply) => {
    const { token, topic } = request.params;
    const form = formOf(request.body);
    const found = isTopic(topic) ? await subscriptions.setByToken(token, topic, form.text('action') === 'subscribe') : null;
    if (found === null) return unknown(request, reply);
    if (form.text(ONE_CLICK) !== '') return reply.type('text/plain').send('unsubscribed\n');
    return reply.redirect(stopMailsPath(token, topic), 303);
  });
};

/** Ends mails of one kind about an organisation, or begins them again. */
async function topicPage(
  request: FastifyRequest,
  { organisation: id, email, topics, recipient }: Subscription,
  topic: MailTopic,
): Promise<Html> {
  const { organisations, users } = request.server.anonymousStores;
  const [organisation, user] = await Promise.all([organisations.find(id), users.find(email)]);
  const { locale } = readerOf({ locale: user?.locale ?? recipient?.locale ?? null, timeZone: null });
  const texts = wordsIn(locale, 'publicPages').texts.stopMails;
  const stopped = !topics.includes(topic);
  const title = stopped ? texts.doneTitle : texts.title;
  const [action, label] = stopped ? ['subscribe', texts.again] : ['unsubscribe', texts.stop];
  const body = html`<h1>${title}</h1>
    ${stopped && notice({ kind: 'good', body: html`<p>${texts.done}</p>`, announce: true })}
    <p>${topicText(topic, locale)} (${organisation?.displayName ?? id}).</p>
    <form method="post">${button({ text: label, name: 'action', value: action, kind: stopped ? 'secondary' : 'primary' })}</form>`;
  return publicPage({ request, locale, title, body, translated: false });
}

function page(request: FastifyRequest, { locale, unsubscribed }: Recipient): Html {
  const texts = wordsIn(locale, 'publicPages').texts.unsubscribe;
  const title = unsubscribed ? texts.doneTitle : texts.title;
  const action = unsubscribed ? 'subscribe' : 'unsubscribe';
  const label = unsubscribed ? texts.resubscribe : texts.unsubscribe;
  const body = html`<h1>${title}</h1>
    ${unsubscribed ? notice({ kind: 'good', body: html`<p>${texts.done}</p>`, announce: true }) : html`<p>${texts.question}</p>`}
    <p>${texts.stillSent}</p>
    <form method="post">${button({ text: label, name: 'action', value: action, kind: unsubscribed ? 'secondary' : 'primary' })}</form>`;
  return publicPage({ request, locale, title, body, translated: false });
}

/** The language of the mail is not known, so the page speaks English. */
export function unknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { unknownTitle, unknown: text } = wordsIn(DEFAULT_LOCALE, 'publicPages').texts.unsubscribe;
  const body = html`<h1>${unknownTitle}</h1>
    <p>${text}</p>`;
  return reply.page(publicPage({ request, locale: DEFAULT_LOCALE, title: unknownTitle, body, translated: false }), { status: 404 });
}
