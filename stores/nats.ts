/** The message bus over NATS. Everything here may fail without harm: messages make results faster, never correct. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, credsAuthenticator, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import type { Logger } from '../platform/logger.ts';
import { ALL_PROGRESS, progressSubject, statusSubject, type StatusMessage } from '../core/protocol/subjects.ts';
import { POD_MESSAGE_MAX_BYTES } from '../core/protocol/pod-messages.ts';
import { accountOf, createScanSigner } from './nats-credential.ts';

export interface Bus {
  /** False while there is no connection; reconnecting never stops. */
  readonly connected: boolean;
  /** Publishes a change of a scan. Never throws; the message is lost while there is no connection. */
  publishStatus(organisation: string, message: StatusMessage): void;
  /** Calls `onChange` for each change of one scan until the returned function is called. */
  followStatus(organisation: string, scanId: string, onChange: (message: StatusMessage) => void): () => void;
  /** Calls `onMessage` with each raw message of any pod, at most `POD_MESSAGE_MAX_BYTES` long, with the scan id of its subject. */
  followProgress(onMessage: (scanId: string, payload: Uint8Array) => void): () => void;
  /**
   * A credential that may publish on exactly `progress.<scan>` until `expiresAt`; null if this bus has no signing key.
   * @returns what PodInput's `messages` holds
   */
  issueScanCredential(scanId: string, expiresAt: Date): { url: string; subject: string; jwt: string; seed: string } | null;
  close(): Promise<void>;
}

export interface BusConfiguration {
  /** How this process reaches NATS: one address, or several with commas between them. */
  url: string;
  /** How pods reach it. Default: `url`. */
  podUrl?: string;
  /** A `.creds` file; without it NATS is asked for nothing. Read again for each new connection, so that it may be renewed. */
  credentialsFile?: string;
  /** The seed (`SA…`) of this process's account, or of one of the account's signing keys, that vouches for scans. */
  signingSeed?: string;
  logger: Logger;
}

/** The wait between two attempts to connect, in milliseconds. */
const RECONNECT_MS = 500;
/** A connection that does not answer for two of these intervals is closed, in milliseconds. */
const PING_MS = 5_000;

/** A subscription that outlives connections. */
interface Interest {
  subject: string;
  onMessage: (subject: string, payload: Uint8Array) => void;
  subscription: Subscription | null;
}

/**
 * A bus that connects in the background and never gives up. While there is no connection, messages are lost.
 * @throws if the signing seed is malformed
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

  function follow(subject: string, onMessage: Interest['onMessage']): () => void {
    const interest: Interest = { subject, onMessage, subscription: null };
    interests.add(interest);
    subscribe(interest);
    return () => {
      interests.delete(interest);
      if (connection?.isClosed() === false) interest.subscription?.unsubscribe();
    };
  }

  /** Serves one connection to its end. The client reconnects by itself; it ends only when it is closed or gives up. */
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

  const living = (async () => {
    let reported = false;
    while (!closing.signal.aborted) {
      try {
        await live();
        reported = false;
      } catch (error) {
        if (!reported) logger.warn({ err: error }, 'message bus unavailable; reconnecting in the background');
        reported = true;
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
      // Without a connection the client would buffer messages and send them late; a late status is useless.
      if (!connected) return;
      try {
        connection?.publish(statusSubject(organisation, message.scanId), JSON.stringify(message));
      } catch (error) {
        logger.warn({ scan: message.scanId, organisation, err: error }, 'status message lost');
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
        else logger.warn({ subject, bytes: payload.byteLength }, 'oversized pod message ignored');
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

/** The bus if none is configured: readers poll the database instead. */
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
