/** The connection to the mail server: a pool with a limit for every wait. */
import { isDeepStrictEqual } from 'node:util';
import { createTransport } from 'nodemailer';
import { authorityHint } from '../../platform/authorities.ts';
import { type OutboundProxy, proxyFor } from '../../platform/outbound-proxy.ts';
import { type Credential, currentOf } from '../../platform/setting-files.ts';

/** A mail as it is sent. */
export interface Message {
  messageId: string;
  date: Date;
  to: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}

export type Delivery = { ok: true } | { ok: false; failure: Exclude<Failure, 'unclear'>; reason: string };

export interface MailServer {
  /** Never throws. */
  send(message: Message): Promise<Delivery>;
  close(): void;
}

/** Time limits, in milliseconds. */
export interface SmtpLimits {
  connectMs: number;
  greetingMs: number;
  socketMs: number;
  /** For the whole delivery. A server that sends a byte now and then does not exceed the limit of the socket. */
  deliveryMs: number;
}

export const SMTP_LIMITS: SmtpLimits = { connectMs: 10_000, greetingMs: 10_000, socketMs: 30_000, deliveryMs: 90_000 };

export interface SmtpDeps {
  smtpUrl: Credential;
  /** The address of the sender, with or without a name. */
  from: string;
  /** The maximum number of connections. */
  connections: number;
  limits?: SmtpLimits;
  /** The proxy to the mail server. Default: none. */
  proxy?: OutboundProxy;
}

/** A password is sent in clear text only to this machine, unless the URL says `requireTLS=false`. */
function needsTls(smtpUrl: string): boolean {
  const { username, hostname } = new URL(smtpUrl);
  return username !== '' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

/** Opens connections when mails are sent. Options in the query of the URL, such as `?requireTLS=true`, are nodemailer's. */
export function openMailServer({ smtpUrl, from, connections, limits = SMTP_LIMITS, proxy }: SmtpDeps): MailServer {
  /** The server, and the proxy to it. */
  const current = () => {
    const url = currentOf(smtpUrl);
    return { url, requireTLS: needsTls(url), proxy: proxyFor(proxy, new URL(url))?.href };
  };
  let used: ReturnType<typeof current>;
  function open() {
    used = current();
    return createTransport(
      {
        ...used,
        pool: true,
        maxConnections: connections,
        // A repeated delivery is our decision: the server may have accepted the mail before the connection broke.
        maxRequeues: 0,
        connectionTimeout: limits.connectMs,
        greetingTimeout: limits.greetingMs,
        socketTimeout: limits.socketMs,
        dnsTimeout: limits.connectMs,
        disableFileAccess: true,
        disableUrlAccess: true,
      } as Parameters<typeof createTransport>[0],
      { from },
    );
  }
  let transport = open();

  /** Fails if the delivery takes too long. Its connection is then left to its own limits, and later mails use new ones. */
  async function deliver(message: Message): Promise<void> {
    if (!isDeepStrictEqual(current(), used)) {
      // Ends each of its connections after the mail that it is sending.
      transport.close();
      transport = open();
    }
    const sending = transport;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        if (transport === sending) transport = open();
        sending.close();
        reject(new Error(`the mail server did not accept the mail within ${limits.deliveryMs / 1000} s`));
      }, limits.deliveryMs);
    });
    try {
      await Promise.race([sending.sendMail(message), tooLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether the server answers on a new connection, up to its check of the credentials. */
  async function isAvailable(): Promise<boolean> {
    let probe: ReturnType<typeof createTransport> | undefined;
    try {
      probe = createTransport({
        ...current(),
        connectionTimeout: limits.connectMs,
        greetingTimeout: limits.greetingMs,
        socketTimeout: limits.greetingMs,
        dnsTimeout: limits.connectMs,
      } as Parameters<typeof createTransport>[0]);
      return await probe.verify();
    } catch {
      // The error of the delivery is reported.
      return false;
    } finally {
      probe?.close();
    }
  }

  return {
    async send(message) {
      try {
        await deliver(message);
        return { ok: true };
      } catch (error) {
        const reason = [reasonOf(error as SmtpError), authorityHint(error) ?? []].flat().join('. ');
        const failure = failureOf(error as SmtpError);
        if (failure !== 'unclear') return { ok: false, failure, reason };
        // A mail on which the server hangs or drops the connection must not hold up all others.
        return { ok: false, failure: (await isAvailable()) ? 'later' : 'unavailable', reason };
      }
    },
    close: () => transport.close(),
  };
}

/**
 * `bounced`: the address does not exist. `doubtful`: it may not exist, or it is disabled. `refused`: this mail is not accepted,
 * for a reason that another attempt does not change. `later`: this mail may be accepted later. `unavailable`: the mail server
 * accepts no mail at all. `unclear`: the connection broke, so it may be the server or this mail.
 */
export type Failure = 'bounced' | 'doubtful' | 'refused' | 'later' | 'unavailable' | 'unclear';

/** The fields of nodemailer's errors. */
export interface SmtpError {
  code?: unknown;
  command?: unknown;
  responseCode?: unknown;
  response?: unknown;
  message?: unknown;
  /** The system call that failed. */
  syscall?: unknown;
}

/** Errors of the name, the encryption or the credentials of the server. */
const SERVER_ERRORS: readonly unknown[] = ['EDNS', 'ETLS', 'EAUTH', 'EOAUTH2', 'ECONFIG', 'ENOAUTH'];

/** Classifies an error of nodemailer. */
export function failureOf({ code, command, responseCode, response, syscall }: SmtpError): Failure {
  if (SERVER_ERRORS.includes(code)) return 'unavailable';
  // There was no connection yet, so it was not this mail, whether or not the server is back by now.
  if (syscall === 'connect') return 'unavailable';
  // The sender is the same for all mails. A mail that is too large has another code.
  if (command === 'MAIL FROM' && code === 'EENVELOPE') return 'unavailable';
  if (typeof responseCode === 'number' && (command === 'RCPT TO' || command === 'DATA')) {
    if (responseCode < 500) return 'later';
    return command === 'RCPT TO' ? refusedRecipient(responseCode, String(response)) : 'refused';
  }
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return 'refused';
  return 'unclear';
}

/** Codes that servers without enhanced status codes use for an unknown mailbox, and some also for a sender that they block. */
const NO_MAILBOX = [550, 551, 553];

/**
 * Only some permanent refusals say that the address is wrong (RFC 3463: 5.1.x, and 5.2.1, a disabled mailbox). Others are about
 * us, such as a blocked sender or a relay that denies the domain: they must not put recipients on the list of bounced addresses.
 */
function refusedRecipient(responseCode: number, response: string): Failure {
  const [, subject, detail] = /\b5\.(\d{1,3})\.(\d{1,3})\b/.exec(response) ?? [];
  // The mailbox is full.
  if (subject === '2' && detail === '2') return 'later';
  if (responseCode === 552) return 'later';
  if (subject === undefined) return NO_MAILBOX.includes(responseCode) ? 'doubtful' : 'refused';
  // 5.1.7 and 5.1.8 are about the sender's address.
  if (subject === '1') return detail === '7' || detail === '8' ? 'refused' : 'bounced';
  return subject === '2' && detail === '1' ? 'doubtful' : 'refused';
}

/** The reason as it is stored and logged: one line without addresses, because entries outlive them. */
export function reasonOf({ response, message }: SmtpError): string {
  const text = typeof response === 'string' && response !== '' ? response : String(message ?? 'unknown error');
  // What OpenSSL says if the first bytes of the server are plain text.
  if (text.includes('wrong version number')) return 'the port does not begin with TLS: use smtp:// in SMTP_URL, for STARTTLS';
  return text
    .replace(/[^\s<>"']+@[^\s<>"']+/g, '(address)')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 300);
}
