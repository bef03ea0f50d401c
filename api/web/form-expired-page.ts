/** The page after a form of a signed-in user whose CSRF token is that of another session, for example of an earlier sign-in. */
import type { FastifyRequest } from 'fastify';
import { actions, button, linkButton } from './components/buttons.ts';
import { hiddenField } from './components/fields.ts';
import { html, type Html } from './html.ts';
import { dashboardPage } from './layout.ts';

interface FormExpired {
  request: FastifyRequest;
  formAddress: string;
}

const TITLE = 'The form was not saved';
const WHY = 'It was opened before your current sign-in, or the browser did not send it completely. Nothing was changed.';

export function formExpiredPage({ request, formAddress }: FormExpired): Html {
  const kept = keptFields(request);
  const open = linkButton({ text: 'Open the form again', href: formAddress, kind: kept === null ? 'primary' : 'quiet' });
  return dashboardPage({
    request,
    title: TITLE,
    active: null,
    body: html`<div class="narrow">
      <h1>${TITLE}</h1>
      <p class="lead">${WHY} ${kept === null ? 'Open the form again and fill it in.' : 'What you entered is kept: send it again.'}</p>
      ${
        kept === null
          ? actions(open)
          : html`<form method="post" action="${request.url}">
              ${hiddenField('_csrf', request.viewer!.csrfToken)} ${kept.map(([name, value]) => hiddenField(name, value))}
              ${actions(button({ text: 'Send again', kind: 'primary' }), open)}
            </form>`
      }
    </div>`,
  });
}

/**
 * The fields that can be sent again; null if the browser does not confirm that a page of this service sent the form, or if the
 * form has a password, which is never written into a page.
 */
function keptFields({ headers, body }: FastifyRequest): [name: string, value: string][] | null {
  if (headers['sec-fetch-site'] !== 'same-origin') return null;
  const fields = Object.entries((body ?? {}) as Record<string, unknown>).filter(([name]) => name !== '_csrf');
  if (fields.some(([name]) => name.includes('password'))) return null;
  return fields.flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, String(value)]));
}
