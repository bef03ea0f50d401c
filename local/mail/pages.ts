/** The pages of the mail catcher's inbox. */
import { html } from 'hono/html';
import { MAILS_MAX, type CaughtMail } from './mailbox.ts';

type Html = ReturnType<typeof html>;

/** Colours have a contrast of at least 4.5:1 in both schemes. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #17211f; --soft: #4a5654; --paper: #fbfaf7; --line: #c9cfcc; --link: #0b5a53; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eef2f0; --soft: #b3beba; --paper: #121816; --line: #3c4744; --link: #7fd6ca; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 64rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
p, dl { margin: 0.5rem 0; }
.soft, dt, time { color: var(--soft); }
a { color: var(--link); }
nav a, .action { display: inline-block; padding: 0.25rem 0; min-height: 1.75rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
ul { list-style: none; margin: 1rem 0; padding: 0; border-top: 1px solid var(--line); }
li { display: grid; gap: 0 1rem; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
li a { font-weight: 600; overflow-wrap: anywhere; padding: 0.125rem 0; }
li span { overflow-wrap: anywhere; }
@media (min-width: 40rem) { li { grid-template-columns: minmax(0, 2fr) minmax(0, 1fr) auto; align-items: baseline; } }
dl { display: grid; gap: 0.25rem 1rem; }
dd { margin: 0 0 0.5rem; overflow-wrap: anywhere; }
@media (min-width: 40rem) { dl { grid-template-columns: 12rem minmax(0, 1fr); } dd { margin: 0; } }
iframe { width: 100%; height: 46rem; max-height: 80vh; border: 1px solid var(--line); border-radius: 0.5rem; background: Canvas; }
pre { margin: 0; padding: 1rem; border: 1px solid var(--line); border-radius: 0.5rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.9rem; }
summary { padding: 0.25rem 0; cursor: pointer; }
`;

function page(title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="stylesheet" href="/style.css" />
        <link rel="icon" href="data:," />
      </head>
      <body>
        ${body}
      </body>
    </html>`;
}

const receivedAt = ({ receivedAt: at }: CaughtMail): Html => html`<time datetime="${at}">${at.slice(0, 19).replace('T', ' ')} UTC</time>`;

/** The list of all mails, newest first. */
export function inboxPage(mails: readonly CaughtMail[]): Html {
  const title = mails.length === 0 ? 'Inbox' : `Inbox (${mails.length})`;
  return page(
    title,
    html`<main>
      <h1>${title}</h1>
      <p class="soft">
        Mails of this Curbcut arrive here and nowhere else. The last ${MAILS_MAX} are kept until it stops. Tests read them as JSON at
        <a href="/api/mails">/api/mails</a>.
      </p>
      <p><a class="action" href="/">Refresh</a></p>
      ${
        mails.length === 0
          ? html`<p>No mail has arrived yet. Request a scan on the public page to receive one.</p>`
          : html`<ul>
              ${mails.map(
                (mail) =>
                  html`<li>
                    <a href="/mails/${mail.id}">${mail.subject}</a>
                    <span>to ${mail.to}</span>
                    ${receivedAt(mail)}
                  </li>`,
              )}
            </ul>`
      }
    </main>`,
  );
}

/** One mail. Its HTML is in a frame that runs and loads nothing; links open in a new tab. */
export function mailPage(mail: CaughtMail): Html {
  return page(
    `${mail.subject} · Inbox`,
    html`<nav aria-label="Inbox"><a href="/">Back to the inbox</a></nav>
      <main>
        <h1>${mail.subject}</h1>
        <dl>
          <dt>From</dt>
          <dd>${mail.from}</dd>
          <dt>To</dt>
          <dd>${mail.to}</dd>
          <dt>Received</dt>
          <dd>${receivedAt(mail)}</dd>
        </dl>
        ${
          mail.html !== null &&
          html`<h2>HTML</h2>
            <iframe
              title="The mail as HTML"
              src="/mails/${mail.id}/html"
              sandbox="allow-popups allow-popups-to-escape-sandbox"
              referrerpolicy="no-referrer"
            ></iframe>`
        }
        ${
          mail.text !== null &&
          html`<h2>Text</h2>
            <pre>${mail.text}</pre>`
        }
        <h2>Source</h2>
        <details>
          <summary>Headers (${mail.headers.length})</summary>
          <dl>
            ${mail.headers.map(
              ({ name, value }) =>
                html`<dt>${name}</dt>
                  <dd>${value}</dd>`,
            )}
          </dl>
        </details>
        <p><a class="action" href="/mails/${mail.id}/source">Source of the mail</a></p>
      </main>`,
  );
}

/** A page that says that there is no such mail. */
export const missingPage = (): Html =>
  page(
    'Mail not found · Inbox',
    html`<main>
      <h1>Mail not found</h1>
      <p>This mail was removed, because only the last ${MAILS_MAX} are kept, or it arrived before the last restart.</p>
      <p><a class="action" href="/">Back to the inbox</a></p>
    </main>`,
  );

/** The HTML of a mail for the frame. Links open in a new tab, because the frame cannot navigate. */
export function framedHtml(mailHtml: string): string {
  const base = '<base target="_blank" />';
  return /<head[^>]*>/i.test(mailHtml) ? mailHtml.replace(/<head[^>]*>/i, (head) => `${head}${base}`) : `${base}${mailHtml}`;
}
