/** The mails that arrived, in memory. Bounded in number and size: the oldest go first. */
import PostalMime, { type Address } from 'postal-mime';

export interface CaughtMail {
  id: number;
  receivedAt: string;
  /** The addresses of the SMTP envelope. */
  envelope: { from: string; to: string[] };
  from: string;
  to: string;
  subject: string;
  messageId: string | null;
  /** In the order of the mail, with lower-case names. */
  headers: { name: string; value: string }[];
  text: string | null;
  html: string | null;
  /** The mail as it arrived. */
  source: string;
}

export interface Mailbox {
  /** Parses and stores a mail. @throws if it cannot be parsed */
  add(source: Buffer, envelope: CaughtMail['envelope']): Promise<CaughtMail>;
  /** Newest first. */
  list(): CaughtMail[];
  find(id: number): CaughtMail | null;
  clear(): void;
}

/** The limits of what is kept. */
export const MAILS_MAX = 200;
const BYTES_MAX = 64 * 1024 * 1024;

const addressText = ({ name, address }: Address): string => (name ? `${name} <${address ?? ''}>` : (address ?? ''));

export function createMailbox({ now = () => new Date(), bytesMax = BYTES_MAX } = {}): Mailbox {
  const mails: CaughtMail[] = [];
  let bytes = 0;
  let lastId = 0;
  return {
    async add(source, envelope) {
      const parsed = await PostalMime.parse(source);
      const mail: CaughtMail = {
        id: (lastId += 1),
        receivedAt: now().toISOString(),
        envelope,
        from: parsed.from ? addressText(parsed.from) : envelope.from,
        to: parsed.to?.map(addressText).join(', ') ?? envelope.to.join(', '),
        subject: parsed.subject ?? '(no subject)',
        messageId: parsed.messageId ?? null,
        headers: parsed.headers.map(({ key, value }) => ({ name: key, value })),
        text: parsed.text ?? null,
        html: parsed.html ?? null,
        source: source.toString('utf8'),
      };
      mails.unshift(mail);
      bytes += mail.source.length;
      while (mails.length > MAILS_MAX || (bytes > bytesMax && mails.length > 1)) bytes -= mails.pop()!.source.length;
      return mail;
    },
    list: () => [...mails],
    find: (id) => mails.find((mail) => mail.id === id) ?? null,
    clear() {
      mails.length = 0;
      bytes = 0;
    },
  };
}
