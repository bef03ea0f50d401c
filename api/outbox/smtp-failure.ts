/** What a failed delivery means. Pure. */

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
  return text
    .replace(/[^\s<>"']+@[^\s<>"']+/g, '(address)')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 300);
}
