/**
 * A mail server that delivers nothing: it keeps the last mails in memory and shows them on a page. For evaluation,
 * development and tests.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isIP } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { createMailbox, type Mailbox } from './mailbox.ts';
import { framedHtml, inboxPage, mailPage, missingPage, STYLE } from './pages.ts';
import { hostInUrl, ownAddress } from '../../platform/listen.ts';

export interface MailCatcher {
  /** `smtp://host:port`, for SMTP_URL. */
  smtpUrl: string;
  /** `http://host:port`. `/api/mails` lists the mails as JSON. */
  inboxUrl: string;
  close(): Promise<void>;
}

const MAIL_BYTES_MAX = 10 * 1024 * 1024;
const PAGE_POLICY = "default-src 'none'; style-src 'self'; img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'";
/** The HTML of a mail is not trusted: no script, no request, no form. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; sandbox allow-popups allow-popups-to-escape-sandbox";

/** Starts both servers. Default: loopback, and any free ports. @throws Error if a port is in use */
export async function startMail({ host = '127.0.0.1', smtpPort = 0, httpPort = 0 } = {}): Promise<MailCatcher> {
  const mailbox = createMailbox();
  const smtp = createSmtpServer(mailbox);
  await new Promise<void>((resolve, reject) => {
    smtp.once('error', reject);
    smtp.listen(smtpPort, host, resolve);
  });
  // A connection that breaks concerns only its client.
  smtp.removeAllListeners('error').on('error', () => undefined);

  const http = createServer((request, response) => respond(mailbox, request, response));
  try {
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(httpPort, host, resolve);
    });
  } catch (error) {
    await closeSmtp(smtp);
    throw error;
  }
  const portOf = (server: { address(): AddressInfo | string | null }): number => (server.address() as AddressInfo).port;
  const name = hostInUrl(ownAddress(host));
  return {
    smtpUrl: `smtp://${name}:${portOf(smtp.server)}`,
    inboxUrl: `http://${name}:${portOf(http)}`,
    async close() {
      http.closeAllConnections();
      await Promise.all([closeSmtp(smtp), new Promise<void>((resolve) => http.close(() => resolve()))]);
    },
  };
}

function createSmtpServer(mailbox: Mailbox): SMTPServer {
  return new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    size: MAIL_BYTES_MAX,
    closeTimeout: 1000,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => {
        // The server goes on reading after the limit.
        if (!stream.sizeExceeded) chunks.push(chunk);
      });
      stream.once('error', done);
      stream.once('end', () => {
        if (stream.sizeExceeded) return done(Object.assign(new Error('the mail is too large'), { responseCode: 552 }));
        const { mailFrom, rcptTo } = session.envelope;
        const envelope = { from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address) };
        mailbox.add(Buffer.concat(chunks), envelope).then(() => done(), done);
      });
    },
  });
}

const closeSmtp = (smtp: SMTPServer): Promise<void> => new Promise((resolve) => smtp.close(() => resolve()));

/** Web pages on other sites must not read the mails by pointing a name of theirs at loopback (DNS rebinding). */
function isOwnHost(header: string | undefined): boolean {
  const name = (header ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name.endsWith('.localhost') || isIP(name) !== 0;
}

interface Answer {
  status?: number;
  type: string;
  body: string;
  policy?: string;
}

function respond(mailbox: Mailbox, request: IncomingMessage, response: ServerResponse): void {
  const { status = 200, type, body, policy = PAGE_POLICY } = answer(mailbox, request);
  response.writeHead(status, {
    'content-type': `${type}; charset=utf-8`,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? '' : body);
}

function answer(mailbox: Mailbox, { headers, method, url = '/' }: IncomingMessage): Answer {
  const plain = (status: number, body: string): Answer => ({ status, type: 'text/plain', body });
  if (!isOwnHost(headers.host)) return plain(421, 'Open the inbox by its address or as localhost.\n');
  const { pathname, searchParams } = new URL(url, 'http://inbox');
  if (pathname === '/api/mails' && method === 'DELETE') {
    mailbox.clear();
    return { status: 200, type: 'application/json', body: '{"data":[]}' };
  }
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'Only GET, and DELETE of /api/mails.\n');
  const page = (body: unknown, status = 200): Answer => ({ status, type: 'text/html', body: String(body) });
  if (pathname === '/') return page(inboxPage(mailbox.list()));
  if (pathname === '/style.css') return { type: 'text/css', body: STYLE };
  if (pathname === '/api/mails') {
    const to = searchParams.get('to');
    const data = mailbox.list().filter(({ envelope }) => to === null || envelope.to.includes(to));
    return { type: 'application/json', body: JSON.stringify({ data }) };
  }
  const [, id, part] = /^\/mails\/(\d+)(?:\/(html|source))?$/.exec(pathname) ?? [];
  const mail = id === undefined ? null : mailbox.find(Number(id));
  if (mail === null) return page(missingPage(), 404);
  if (part === 'source') return { type: 'text/plain', body: mail.source, policy: MAIL_POLICY };
  if (part === 'html') return { type: 'text/html', body: framedHtml(mail.html ?? ''), policy: MAIL_POLICY };
  return page(mailPage(mail));
}
