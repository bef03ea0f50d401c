/** Signatures of webhooks as Standard Webhooks defines them (HMAC-SHA256). */
import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';
/** The specification allows 24 to 64 bytes. */
export const SECRET_BYTES = 32;
const SECRET_BYTES_ALLOWED = { min: 24, max: 64 };

export const secretText = (bytes: Uint8Array): string => PREFIX + Buffer.from(bytes).toString('base64');

/** Whether the text is `whsec_` and the Base64 form of 24 to 64 bytes. */
export function isWebhookSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const bytes = bytesOf(text);
  return secretText(bytes) === text && bytes.length >= SECRET_BYTES_ALLOWED.min && bytes.length <= SECRET_BYTES_ALLOWED.max;
}

const bytesOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');

/** What is sent: the ID is the same for each attempt, the time is the attempt's own. */
export interface SignedMessage {
  id: string;
  at: Date;
  /** Exactly as it is sent. */
  body: string;
}

/** The three headers of a request. It has one signature for each secret. */
export function signedHeaders({ id, at, body }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const sign = (secret: string) => createHmac('sha256', bytesOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' '),
  };
}
