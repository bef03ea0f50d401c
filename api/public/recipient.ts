/** The page of a recipient without an account, whom an owner added: agree, decline, and end all mails later. The token is the permission. */
import type { FastifyPluginAsync } from 'fastify';
import { recipientPath } from '../../core/web-paths.ts';
import { wordsIn } from '../../report/words/words.ts';
import { button } from '../../report/html/elements.ts';
import { html } from '../../report/html/html.ts';
import { topicText } from '../outbox/mail-contents.ts';
import { actions, notice } from '../web/components.ts';
import htmlScope, { formOf } from '../web/html-scope.ts';
import { publicPage } from '../web/layout.ts';
import { unknown } from './unsubscribe.ts';

type Route = { Params: { token: string } };

export const recipientRoutes: FastifyPluginAsync = async (app) => {
  const { subscriptions, organisations } = app.anonymousStores;
  const config = { network: 'links' } as const;
  await app.register(htmlScope);

  app.get<Route>(recipientPath(':token'), { config }, async (request, reply) => {
    const { token } = request.params;
    const found = await subscriptions.findByToken(token);
    if (found?.recipient === undefined) return unknown(request, reply);
    const { recipient, topics } = found;
    const { locale, addedBy, agreedAt } = recipient;
    const organisation = (await organisations.find(found.organisation))?.displayName ?? found.organisation;
    const { texts, format } = wordsIn(locale, 'publicPages');
    const { agree, decline, agreed, remove, ...words } = texts.recipient;
    const title = format(words.title, { organisation });
    const body = html`<h1>${title}</h1>
      ${agreedAt === undefined ? html`<p>${format(words.intro, { person: addedBy, organisation })}</p>` : notice({ kind: 'good', body: agreed, announce: true })}
      <ul>
        ${topics.map((topic) => html`<li>${topicText(topic, locale)}</li>`)}
      </ul>
      <form method="post">
        ${
          agreedAt === undefined
            ? actions(
                button({ text: agree, name: 'action', value: 'agree', kind: 'primary' }),
                button({ text: decline, name: 'action', value: 'end' }),
              )
            : button({ text: remove, name: 'action', value: 'end', kind: 'danger' })
        }
      </form>`;
    return reply.page(publicPage({ request, locale, title, body, translated: false }));
  });

  app.post<Route>(recipientPath(':token'), { config }, async (request, reply) => {
    const { token } = request.params;
    const found = await subscriptions.findByToken(token);
    if (found?.recipient === undefined) return unknown(request, reply);
    const agrees = formOf(request.body).text('action') === 'agree';
    const done = agrees ? await subscriptions.agree(token) : (await subscriptions.removeRecipient({ token })) !== null;
    const { email, organisation } = found;
    const entry = { organisation, actor: email, subject: email, action: agrees ? 'recipient.agree' : 'recipient.end' };
    if (done)
      await organisations.record(entry).catch((err: unknown) => app.log.error({ request: request.id, ...entry, err }, 'audit entry lost'));
    if (agrees) return reply.redirect(recipientPath(token), 303);
    const { locale } = found.recipient;
    const { endedTitle: title, ended } = wordsIn(locale, 'publicPages').texts.recipient;
    const body = html`<h1>${title}</h1>
      <p>${ended}</p>`;
    return reply.page(publicPage({ request, locale, title, body, translated: false }));
  });
};
