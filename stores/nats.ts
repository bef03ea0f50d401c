/** NATS in the domain's words. Everything here may fail without harm: messages make things quick, never right. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, credsAuthenticator, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import type { Logger } from '../platform/logger.ts';
import { ALL_PROGRESS, progressSubject, statusSubject, type StatusMessage } from '../core/protocol/subjects.ts';
import { POD_MESSAGE_MAX_BYTES } from '../core/protocol/pod-messages.ts';
import { accountOf, createScanSigner } from './nats-credential.ts';

export interface Bus {
  /** False while there is no connection; it is sought again for ever in the background. */
  readonly connected: boolean;
  /** Tells of a change. Never throws; lost while there is no connection. */
  publishStatus(organisation: string, message: StatusMessage): void;
  /** Calls `onChange` for each change of one scan until the returned function is called. */
  followStatus(organisation: string, scanId: string, onChange: (message: StatusMessage) => void): () => void;
  /** Calls `onMessage` with each raw message of any pod, at most `POD_MESSAGE_MAX_BYTES` long, with the scan id of its subject. */
  followProgress(onMessage: (scanId: string, payload: Uint8Array) => void): () => void;
  /**
   * A credential that may publish on exactly `progress.<scan>` until `expiresAt`; null where this bus has no signing key.
   * @returns what PodInput's `messages` holds
   */
  issueScanCredential(scanId: string, expiresAt: Date): { url: string; subject: string; jwt: string; seed: string } | null;
  close(): Promise<void>;
}

export interface BusConfiguration {
  /** How this process reaches NATS: one address, or several with commas between them. */
  url: string;
  /** How pods reach it; the same where absent. */
  podUrl?: string;
  /** A `.creds` file; without it NATS is asked for nothing. Read again for each new connection, so that it may be renewed. */
  credentialsFile?: string;
  /** The seed (`SA…`) of this process's account, or of one of the account's signing keys, that vouches for scans. */
  signingSeed?: string;
  logger: Logger;
}

/** Waits between two attempts to find a bus that is away, in milliseconds. */
const RECONNECT_MS = 500;
/** A connection that does not answer for two such intervals is given up, in milliseconds. */
const PING_MS = 5_000;

/** One interest in a subject: kept here, so that it outlives every connection. */
interface Interest {
  subject: string;
  onMessage: (subject: string, payload: Uint8Array) => void;
  subscription: Subscription | null;
}

/**
 * A bus that is sought in the background, at once and for ever; until it is found, and whenever it is away, messages are lost.
 * @throws where the signing seed is malformed
 */
export function createBus({ url, podUrl = url, credentialsFile, signingSeed, logger }: BusConfiguration): Bus {
  const interests = new Set<Interest>();
  const closing = new AbortController();
  const signer = signingSeed === undefined ? null : createScanSigner(signingSeed);
  const credentials = credentialsFile === undefined ? null : () => readFileSync(credentialsFile);
  let connection: NatsConnection | null = null;
  let connected = false;

  function subscribe(interest: Interest): void {
    if (connection === null || connection.isClosed()) return;
    interest.subscription = connection.subscribe(interest.subject, {
      callback: (error, message) => {
        if (error !== null) return logger.warn({ subject: interest.subject, reason: error.message }, 'message bus refuses a subscription');
        if (!interests.has(interest)) return;
        try {
          interest.onMessage(message.subject, message.data);
        } catch (cause) {
          // Thrown further it would end the connection for everybody.
          logger.warn({ subject: message.subject, reason: (cause as Error).message }, 'message cannot be read');
        }
      },
    });
  }

  function follow(subject: string, onMessage: Interest['onMessage']): () => void {
    const interest: Interest = { subject, onMessage, subscription: null };
    interests.add(interest);
    subscribe(interest);
    return () => {
      interests.delete(interest);
      if (connection?.isClosed() === false) interest.subscription?.unsubscribe();
    };
  }

  /** Lives one connection to its end. The client itself reconnects; it ends only when it is closed or gives up for good. */
  async function live(): Promise<void> {
    connection = await connect({
      servers: url.split(','),
      name: 'curbcut',
      ...(credentials === null ? {} : { authenticator: credsAuthenticator(credentials) }),
      timeout: 2_000,
      pingInterval: PING_MS,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
    });
    if (closing.signal.aborted) return connection.close();
    const current = connection;
    connected = true;
    logger.info({ server: current.getServer() }, 'message bus found');
    for (const interest of interests) subscribe(interest);
    for await (const status of current.status()) {
      if (status.type === 'disconnect') connected = false;
      if (status.type === 'reconnect') connected = true;
      if (status.type === 'disconnect' || status.type === 'reconnect')
        logger.info({ server: status.server }, `message bus: ${status.type}`);
      if (status.type === 'error') logger.warn({ reason: status.error.message }, 'message bus refuses something');
    }
    connected = false;
  }

  const living = (async () => {
    let told = false;
    while (!closing.signal.aborted) {
      try {
        await live();
        told = false;
      } catch (error) {
        if (!told) logger.warn({ reason: (error as Error).message }, 'message bus cannot be reached; it is sought again in the background');
        told = true;
      }
      connected = false;
      await rest(RECONNECT_MS, closing.signal);
    }
  })();

  return {
    get connected() {
      return connected;
    },

    publishStatus(organisation, message) {
      // While away the client would gather messages and send them late; a late status is worth nothing.
      if (!connected) return;
      try {
        connection?.publish(statusSubject(organisation, message.scanId), JSON.stringify(message));
      } catch (error) {
        logger.warn({ scanId: message.scanId, reason: (error as Error).message }, 'status message lost');
      }
    },

    followStatus(organisation, scanId, onChange) {
      return follow(statusSubject(organisation, scanId), (_subject, payload) =>
        onChange(JSON.parse(Buffer.from(payload).toString()) as StatusMessage),
      );
    },

    followProgress(onMessage) {
      const prefix = progressSubject('');
      return follow(ALL_PROGRESS, (subject, payload) => {
        if (payload.byteLength <= POD_MESSAGE_MAX_BYTES) onMessage(subject.slice(prefix.length), payload);
        else logger.warn({ subject, bytes: payload.byteLength }, 'message of a pod is too long and is ignored');
      });
    },

    issueScanCredential(scanId, expiresAt) {
      if (signer === null) return null;
      const subject = progressSubject(scanId);
      return { url: podUrl, subject, ...signer(subject, expiresAt, credentials === null ? null : accountOf(credentials())) };
    },

    async close() {
      closing.abort();
      if (connected) await Promise.race([connection?.flush().catch(() => undefined), rest(1_000)]);
      await connection?.close();
      await living;
    },
  };
}

/** The bus where none is configured: nothing is told, everything is read. */
export function noBus(): Bus {
  return {
    connected: false,
    publishStatus: () => undefined,
    followStatus: () => () => undefined,
    followProgress: () => () => undefined,
    issueScanCredential: () => null,
    close: () => Promise.resolve(),
  };
}

function rest(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
}
