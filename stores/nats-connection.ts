/** One connection to NATS that reconnects in the background, and subscriptions that outlive it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, credsAuthenticator, type NatsConnection as Client, type Subscription } from '@nats-io/transport-node';
import type { Logger } from '../platform/logger.ts';
import { currentOf, type Credential } from '../platform/setting-files.ts';
import { withTimeLimit } from '../platform/time-limits.ts';

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
