/** One connection to NATS that reconnects in the background, and subscriptions that outlive it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { connect, credsAuthenticator, type NatsConnection as Client, type Subscription } from '@nats-io/transport-node';
import { fromSeed, type KeyPair } from '@nats-io/nkeys';
import type { Logger } from '../platform/logger.ts';
import { type Credential, currentOf } from '../platform/setting-files.ts';
import { withTimeLimit } from '../platform/time-limits.ts';

/**
 * Signs NATS user credentials for single scans (NATS' decentralised JWTs). The code is here because the operator builds a
 * scan's Secret synchronously, and `@nats-io/jwt` signs only asynchronously.
 */
const base64url = (value: object | Uint8Array): string =>
  Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value)).toString('base64url');

/** What a pod may do on the bus. */
export interface PodGrant {
  publish: string[];
  /** Absent: nothing. */
  subscribe?: string;
  /** The most bytes of a message. */
  payload: number;
}

/**
 * Signs a credential for a pod, until `expiresAt`.
 * @param account the account's public key if the signing seed may belong to one of its signing keys, else null
 */
export type ScanSigner = (grant: PodGrant, expiresAt: Date, account: string | null) => { jwt: string; seed: string };

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
  return ({ publish, subscribe, payload }, expiresAt, account) => {
    const user = createUserKey();
    const claims = {
      aud: 'NATS',
      // In seconds, rounded up so that the credential does not expire before the deadline.
      exp: Math.ceil(expiresAt.getTime() / 1000),
      iat: Math.floor(Date.now() / 1000),
      iss: issuerKey,
      name: publish[0],
      sub: user.publicKey,
      nats: {
        type: 'user',
        version: 2,
        ...(account === null || account === issuerKey ? {} : { issuer_account: account }),
        pub: { allow: publish },
        sub: subscribe === undefined ? { deny: ['>'] } : { allow: [subscribe] },
        subs: -1,
        data: -1,
        payload,
      },
    };
    const jti = createHash('sha256').update(JSON.stringify(claims)).digest('hex');
    const signed = `${base64url({ typ: 'JWT', alg: 'ed25519-nkey' })}.${base64url({ ...claims, jti })}`;
    const signature = base64url(sign(Buffer.from(signed)));
    return { jwt: `${signed}.${signature}`, seed: user.seed };
  };
}

/**
 * NKeys of NATS users, made with the Ed25519 of Node.js: an NKey is base32 of a type prefix, the raw key and a CRC-16.
 * `@nats-io/nkeys` does the same in JavaScript (tweetnacl), which blocks the event loop for 7 to 27 ms per credential.
 */
const SEED_PREFIX = 18 << 3;
const USER_PREFIX = 20 << 3;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** The DER of a PKCS #8 Ed25519 private key up to its 32 raw bytes (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Creates the key of a user. @returns its public key (`U…`) and its seed (`SU…`) */
export function createUserKey(): { publicKey: string; seed: string } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return { publicKey: encode([USER_PREFIX], x!), seed: encode([SEED_PREFIX | (USER_PREFIX >> 5), (USER_PREFIX & 31) << 3], d!) };
}

/** Returns a function that signs with the Ed25519 key of 32 raw bytes. */
export function createSigner(rawSeed: Uint8Array): (data: Uint8Array) => Uint8Array {
  const key: KeyObject = createPrivateKey({ key: Buffer.concat([PKCS8, rawSeed]), format: 'der', type: 'pkcs8' });
  return (data) => sign(null, data, key);
}

/** @param key base64url */
function encode(prefix: readonly number[], key: string): string {
  const payload = Buffer.concat([Buffer.from(prefix), Buffer.from(key, 'base64url')]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(payload));
  return base32(Buffer.concat([payload, checksum]));
}

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}

/** Base32 without padding (RFC 4648). */
function base32(bytes: Uint8Array): string {
  let text = '';
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(value >> (bits - 5)) & 31];
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text;
}

export interface NatsConnectionOptions {
  /** One address, or several separated by commas. */
  url: Credential;
  /** Reads a `.creds` file, again for each new connection. Null: connect without credentials. */
  readCredentials: (() => Uint8Array) | null;
  logger: Logger;
}

type OnMessage = (subject: string, payload: Uint8Array) => void;

/** A subscription that outlives connections. */
interface SubjectSubscription {
  subject: string;
  onMessage: OnMessage;
  subscription: Subscription | null;
}

/** The wait between two attempts to connect, in milliseconds. */
const RECONNECT_MS = 500;
/** A connection that does not respond for two of these intervals is closed, in milliseconds. */
const PING_MS = 5_000;
const CONNECT_LIMIT_MS = 2_000;
const FLUSH_LIMIT_MS = 1_000;

export function openNatsConnection({ url, readCredentials, logger }: NatsConnectionOptions) {
  const interests = new Set<SubjectSubscription>();
  const closing = new AbortController();
  let client: Client | null = null;
  let connected = false;

  function subscribe(interest: SubjectSubscription): void {
    if (client === null || client.isClosed()) return;
    interest.subscription = client.subscribe(interest.subject, {
      callback: (error, message) => {
        if (error !== null) return logger.warn({ subject: interest.subject, err: error }, 'subscription refused');
        if (!interests.has(interest)) return;
        try {
          interest.onMessage(message.subject, message.data);
        } catch (cause) {
          // An error thrown here would close the connection for every subscription.
          logger.warn({ subject: message.subject, err: cause }, 'invalid message ignored');
        }
      },
    });
  }

  /** Runs one client until it is closed or gives up. The client itself reconnects after a connection loss. */
  async function runClient(): Promise<void> {
    client = await connect({
      servers: currentOf(url).split(','),
      name: 'curbcut',
      ...(readCredentials === null ? {} : { authenticator: credsAuthenticator(readCredentials) }),
      timeout: CONNECT_LIMIT_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
    });
    if (closing.signal.aborted) return client.close();
    const current = client;
    connected = true;
    logger.info({ server: current.getServer() }, 'message bus connected');
    for (const interest of interests) subscribe(interest);
    for await (const status of current.status()) {
      if (status.type === 'disconnect') connected = false;
      if (status.type === 'reconnect') connected = true;
      if (status.type === 'disconnect' || status.type === 'reconnect')
        logger.info({ server: status.server }, `message bus ${status.type}ed`);
      if (status.type === 'error') logger.warn({ err: status.error }, 'message bus error');
    }
    connected = false;
  }

  async function runUntilClosed(): Promise<void> {
    let reported = false;
    while (!closing.signal.aborted) {
      try {
        await runClient();
        reported = false;
      } catch (error) {
        if (!reported) logger.warn({ err: error }, 'message bus unavailable; reconnecting in the background');
        reported = true;
      }
      connected = false;
      await sleep(RECONNECT_MS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  }

  const running = runUntilClosed();

  return {
    /** False while there is no connection. */
    get connected(): boolean {
      return connected;
    },

    /** Publishes a message, or drops it if there is no connection. @throws if the client rejects the message */
    publish(subject: string, payload: string) {
      // Without a connection the client would buffer the message and send it late.
      if (connected) client?.publish(subject, payload);
    },

    /** Calls `onMessage` for each message on a subject, which may have wildcards, until the returned function is called. */
    follow(subject: string, onMessage: OnMessage): () => void {
      const interest: SubjectSubscription = { subject, onMessage, subscription: null };
      interests.add(interest);
      subscribe(interest);
      return () => {
        interests.delete(interest);
        if (client?.isClosed() === false) interest.subscription?.unsubscribe();
      };
    },

    /** Replaces the connection by one with the current address and credentials. Messages in between are lost. */
    renew: () => void client?.close().catch((err: unknown) => logger.warn({ err }, 'closing the message bus failed')),

    async close() {
      closing.abort();
      if (connected && client !== null) await withTimeLimit(client.flush(), FLUSH_LIMIT_MS, 'NATS flush').catch(() => undefined);
      await client?.close();
      await running;
    },
  };
}
