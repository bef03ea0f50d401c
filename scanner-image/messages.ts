/** Tells the operator how far the pod is. All of it may be lost without harm, so nothing here ever fails the scan. */
import { connect, jwtAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../platform/logger.ts';
import type { PodFailed, PodIdentity, PodInput, PodProgress, PodStored } from '../core/protocol/pod-messages.ts';
import type { PageProgress } from '../core/scan/counts.ts';

export interface Messages {
  /** Tells a phase and its page counts: a new phase at once, new counts at most every 500 ms. */
  progress(phase: PodProgress['phase'], pages: PageProgress): void;
  /** Sends the last message, sees it off, and closes. Waits 3 s at most. */
  end(message: PodStored | PodFailed | null): Promise<void>;
}

const EVERY_MS = 500;
const END_MS = 3000;

/** Says nothing to anybody: where the bus cannot vouch for a single scan. */
const SILENT: Messages = { progress: () => undefined, end: () => Promise.resolve() };

/** Opens the way to the operator in the background; what is to be told before it is open is told then, the newest only. */
export function openMessages(input: Pick<PodInput, 'scanId' | 'messages'>, identity: PodIdentity, log: Logger): Messages {
  const { messages, scanId } = input;
  if (messages === undefined) return SILENT;
  let connection: NatsConnection | null = null;
  let state: 'telling' | 'ending' | 'closed' = 'telling';
  let sequence = 0;
  let phase: PodProgress['phase'] | null = null;
  let newest: Pick<PodProgress, 'phase' | 'pages'> | null = null;
  let timer: NodeJS.Timeout | null = null;

  const opening = connect({
    servers: messages.url.split(',').map((server) => server.trim()),
    name: `curbcut-scanner ${scanId}`,
    authenticator: jwtAuthenticator(messages.jwt, new TextEncoder().encode(messages.seed)),
    timeout: 5000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 1000,
    ignoreClusterUpdates: true,
    waitOnFirstConnect: true,
  }).then(
    async (opened) => {
      if (state === 'closed') return opened.close();
      connection = opened;
      void watch(opened);
      if (state === 'telling') send();
    },
    (error: unknown) => log.warn({ error: said(error) }, 'progress cannot be told; the scan goes on without'),
  );

  async function watch(opened: NatsConnection): Promise<void> {
    for await (const status of opened.status())
      if (status.type === 'error') log.warn({ error: said(status.error) }, 'progress was refused');
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
      log.debug({ error: said(error) }, 'a progress message was lost');
    }
    timer = setTimeout(send, EVERY_MS);
    timer.unref();
  }

  return {
    progress(next, { scanned, failed, total }) {
      if (state !== 'telling') return;
      const moved = next !== phase;
      phase = next;
      newest = { phase: next, pages: { scanned, failed, total } };
      if (moved || timer === null) send();
    },
    async end(message) {
      if (state !== 'telling') return;
      state = 'ending';
      if (timer !== null) clearTimeout(timer);
      const until = new Promise<void>((resolve) => setTimeout(resolve, END_MS).unref());
      const seenOff = async (): Promise<void> => {
        if (message === null) return;
        await opening;
        connection?.publish(messages.subject, JSON.stringify(message));
        await connection?.flush();
      };
      const lost = (error: unknown): void =>
        log.warn({ error: said(error) }, 'the last message was lost; the termination message says the same');
      await Promise.race([until, seenOff().catch(lost)]);
      state = 'closed';
      await Promise.race([until, connection?.close().catch(() => undefined)]);
    },
  };
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
