/**
 * Signs NATS user credentials for single scans (NATS' decentralised JWTs). The code is here because the operator builds a
 * scan's Secret synchronously, and `@nats-io/jwt` signs only asynchronously.
 */
import { createHash } from 'node:crypto';
import { fromSeed, type KeyPair } from '@nats-io/nkeys';
import { POD_MESSAGE_MAX_BYTES } from '../core/protocol/pod-messages.ts';
import { createSigner, createUserKey } from './nkeys.ts';

const base64url = (value: object | Uint8Array): string =>
  Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value)).toString('base64url');

/**
 * Signs a credential that can only publish on one subject, until `expiresAt`.
 * @param account the account's public key if the signing seed may belong to one of its signing keys, else null
 */
export type ScanSigner = (subject: string, expiresAt: Date, account: string | null) => { jwt: string; seed: string };

/** Returns the public key of the account that a `.creds` file belongs to, or null if the file contains no user JWT. */
export function accountOf(credentials: Uint8Array): string | null {
  const token = /-----BEGIN NATS USER JWT-----\s+[^.\s]+\.([^.\s]+)\./.exec(Buffer.from(credentials).toString())?.[1];
  if (token === undefined) return null;
  const claims = JSON.parse(Buffer.from(token, 'base64url').toString()) as { iss: string; nats?: { issuer_account?: string } };
  return claims.nats?.issuer_account ?? claims.iss;
}

/**
 * @param signingSeed the seed (`SA…`) of an account, or of one of its signing keys
 * @throws if the seed is malformed or does not belong to an account
 */
export function createScanSigner(signingSeed: string): ScanSigner {
  const issuer = fromSeed(Buffer.from(signingSeed)) as KeyPair & { getRawSeed(): Uint8Array };
  const issuerKey = issuer.getPublicKey();
  if (!issuerKey.startsWith('A')) throw new TypeError('the seed that signs scan credentials must be an account seed (SA…)');
  const sign = createSigner(issuer.getRawSeed());
  return (subject, expiresAt, account) => {
    const user = createUserKey();
    const claims = {
      aud: 'NATS',
      // In seconds, rounded up so that the credential does not expire before the deadline.
      exp: Math.ceil(expiresAt.getTime() / 1000),
      iat: Math.floor(Date.now() / 1000),
      iss: issuerKey,
      name: subject,
      sub: user.publicKey,
      nats: {
        type: 'user',
        version: 2,
        ...(account === null || account === issuerKey ? {} : { issuer_account: account }),
        pub: { allow: [subject] },
        sub: { deny: ['>'] },
        subs: -1,
        data: -1,
        payload: POD_MESSAGE_MAX_BYTES,
      },
    };
    const jti = createHash('sha256').update(JSON.stringify(claims)).digest('hex');
    const signed = `${base64url({ typ: 'JWT', alg: 'ed25519-nkey' })}.${base64url({ ...claims, jti })}`;
    const signature = base64url(sign(Buffer.from(signed)));
    return { jwt: `${signed}.${signature}`, seed: user.seed };
  };
}
