/**
 * Seals stored responses, because some contain a secret, such as the token of a public scan. The secret of the request and the
 * salt of its record open them only together (HKDF, RFC 5869): the caller does not know the salt, and the database does not have
 * the secret.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A response that a repeated request gets again. */
export interface StoredResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Null: the response has no body. */
  body: string | null;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const keyOf = (secret: string, salt: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, salt, 'curbcut response', 32));

export function seal(response: StoredResponse, secret: string, salt: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret, salt), nonce);
  const sealed = [cipher.update(JSON.stringify(response), 'utf8'), cipher.final()];
  return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url');
}

/** @throws Error if it was sealed with another secret or salt, or was changed */
export function unseal(sealed: string, secret: string, salt: string): StoredResponse {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, keyOf(secret, salt), bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return JSON.parse(decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')) as StoredResponse;
}
