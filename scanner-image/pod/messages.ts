/** Reports progress to the operator over the message bus. Messages may be lost, so errors here do not fail the scan. */
import { connect, jwtAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../../platform/logger.ts';
import type { PodFailed, PodIdentity, PodInput, PodProgress, PodStored, Team } from '../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import { withTimeLimit } from '../../platform/time-limits.ts';

export interface Messages {
  /** Reports a phase and its page counts: a new phase immediately, new counts at most every 500 ms. */
  progress(phase: PodProgress['phase'], pages: PageProgress): void;
  /** Sends the last message, waits until it is delivered, and closes the connection. Takes 3 s at most. */
  end(message: PodStored | PodFailed | null): Promise<void>;
}

const INTERVAL_MS = 500;
const END_MS = 3000;

/** Used if the bus cannot issue credentials for a single scan. */
const DISABLED: Messages = { progress: () => undefined, end: () => Promise.resolve() };

/** Connects a pod to the bus, and again whenever the connection is lost. */
export const connectToBus = ({ url, jwt, seed }: Pick<Team, 'url' | 'jwt' | 'seed'>, name: string): Promise<NatsConnection> =>
  connect({
    servers: url.split(',').map((server) => server.trim()),
    name,
    authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
    timeout: 5000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 1000,
    ignoreClusterUpdates: true,
    waitOnFirstConnect: true,
  });

/** Connects in the background, then sends the newest of the earlier messages. */
export function openMessages(input: Pick<PodInput, 'scanId' | 'messages'>, identity: PodIdentity, log: Logger): Messages {
  const { messages, scanId } = input;
  if (messages === undefined) return DISABLED;
  let connection: NatsConnection | null = null;
  let state: 'open' | 'ending' | 'closed' = 'open';
  let sequence = 0;
  let phase: PodProgress['phase'] | null = null;
  let newest: Pick<PodProgress, 'phase' | 'pages'> | null = null;
  let timer: NodeJS.Timeout | null = null;

  const opening = connectToBus(messages, `curbcut-scanner ${scanId}`).then(
    async (opened) => {
      if (state === 'closed') return opened.close();
      connection = opened;
      void watch(opened);
      if (state === 'open') send();
    },
    (error: unknown) => log.warn({ err: error }, 'connecting to the message bus failed; continuing without progress messages'),
  );

  async function watch(opened: NatsConnection): Promise<void> {
    for await (const status of opened.status())
      if (status.type === 'error') log.warn({ err: status.error }, 'message bus rejected progress');
  }

  function send(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (newest === null || connection === null) return;
    const message: PodProgress = { kind: 'progress', scanId, ...identity, sequence, ...newest };
    newest = null;
    try {
      connection.publish(messages?.subject ?? '', JSON.stringify(message));
      sequence += 1;
    } catch (error) {
      log.debug({ err: error }, 'progress message lost');
    }
    timer = setTimeout(send, INTERVAL_MS);
    timer.unref();
  }

  return {
    progress(next, { scanned, failed, total }) {
      if (state !== 'open') return;
      const moved = next !== phase;
      phase = next;
      newest = { phase: next, pages: { scanned, failed, total } };
      if (moved || timer === null) send();
    },
    async end(message) {
      if (state !== 'open') return;
      state = 'ending';
      if (timer !== null) clearTimeout(timer);
      const deadline = performance.now() + END_MS;
      const deliver = async (): Promise<void> => {
        if (message === null) return;
        await opening;
        connection?.publish(messages.subject, JSON.stringify(message));
        await connection?.flush();
      };
      await withTimeLimit(deliver(), END_MS, 'sending the last message').catch((error: unknown) =>
        log.warn({ err: error }, 'last message lost; the termination message carries it too'),
      );
      state = 'closed';
      const closing = connection?.close() ?? Promise.resolve();
      await withTimeLimit(closing, deadline - performance.now(), 'closing the message bus').catch(() => undefined);
    },
  };
}
