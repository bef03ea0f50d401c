/** Follows a scan to its end: by the event stream while that holds, else by polling. */
import { Value } from 'typebox/value';
import { isTerminal, type Phase } from '../core/scan/phases.ts';
import { readAnswer, reasonOf, refusal, retryAfterOf, causeOf, type Client } from './client.ts';
import { CliError } from './errors.ts';
import { Complete, Progress, type ScanResult } from './messages.ts';
import { readEvents } from './sse.ts';

/** Where a scan is. `pages` is null where only polls tell of it. */
export interface Step {
  phase: Phase;
  pages: { scanned: number; total: number } | null;
}

export interface FollowOptions {
  onStep?: (step: Step) => void;
  /** A stream on which nothing came for so long is dead: the service sends a comment every 15 s. */
  idleMs?: number;
}

const IDLE_MS = 45_000;
/** Streams that open and bring nothing, one after the other, until polling takes over: a proxy holds them back. */
const STREAMS_IN_VAIN = 3;
const BETWEEN_STREAMS_MS = 1_000;
const BETWEEN_POLLS_SECONDS = 5;

type Ended = { result: ScanResult } | { result: null; opened: boolean; news: boolean; waitSeconds: number | null };

/**
 * Waits for the end of a scan.
 * @throws CannotTell where there is no such scan, the key is refused, or the service stays away
 */
export async function followScan(client: Client, scanId: string, options: FollowOptions = {}): Promise<ScanResult> {
  const { sleep, signal } = client.options;
  let lastEventId: string | null = null;
  let inVain = 0;
  for (;;) {
    signal.throwIfAborted();
    let streaming = false;
    if (inVain < STREAMS_IN_VAIN) {
      const ended = await oneStream();
      if (ended.result !== null) return ended.result;
      if (ended.opened) inVain = ended.news ? 0 : inVain + 1;
      await sleep(ended.waitSeconds === null ? BETWEEN_STREAMS_MS : ended.waitSeconds * 1000, signal);
      if (ended.news) continue;
      streaming = inVain < STREAMS_IN_VAIN;
      if (!streaming) client.options.onWait?.('The event stream brings nothing; asking every few seconds instead', 0);
    }
    // Waits out a service that is away, up to the client's patience.
    const { result, retryAfterSeconds } = await client.poll(scanId);
    if (isTerminal(result.status)) return result;
    options.onStep?.({ phase: result.status, pages: null });
    if (!streaming) await sleep((retryAfterSeconds ?? BETWEEN_POLLS_SECONDS) * 1000, signal);
  }

  async function oneStream(): Promise<Ended> {
    const idle = new AbortController();
    const watch = setTimeout(() => idle.abort(), options.idleMs ?? IDLE_MS);
    let opened = false;
    let news = false;
    try {
      const response = await fetch(client.address(`/v1/ci/scans/${encodeURIComponent(scanId)}/events`), {
        headers: client.headers({ Accept: 'text/event-stream', ...(lastEventId !== null && { 'Last-Event-ID': lastEventId }) }),
        signal: AbortSignal.any([signal, idle.signal]),
      });
      if (response.status !== 200 || !response.headers.get('content-type')?.startsWith('text/event-stream') || response.body === null) {
        const waitSeconds = retryAfterOf(response.headers.get('retry-after'));
        const answer = await readAnswer(response);
        if ([401, 403, 404, 422].includes(answer.status)) throw refusal(answer, client.options.baseUrl);
        if (waitSeconds !== null) client.options.onWait?.(reasonOf(answer), waitSeconds);
        return {
          result: null,
          opened,
          news,
          waitSeconds: waitSeconds === null ? null : Math.min(waitSeconds, client.options.maxWaitSeconds),
        };
      }
      opened = true;
      for await (const event of readEvents(response.body, () => watch.refresh())) {
        const data = parsed(event.data);
        if (event.id !== null && event.id !== lastEventId) {
          news = true;
          lastEventId = event.id;
        }
        if (Value.Check(Complete, data)) return { result: data };
        if (Value.Check(Progress, data)) options.onStep?.(stepOf(data));
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CliError) throw error;
      // A stream that breaks is opened again; polling says so where the service is really away.
      if (!news)
        client.options.onWait?.(
          `The event stream broke (${idle.signal.aborted ? 'nothing came' : causeOf(error)})`,
          BETWEEN_STREAMS_MS / 1000,
        );
    } finally {
      clearTimeout(watch);
      idle.abort();
    }
    return { result: null, opened, news, waitSeconds: null };
  }
}

function stepOf({ status, pages_scanned: scanned, pages_total: total }: Progress): Step {
  return { phase: status, pages: scanned === undefined || total === undefined ? null : { scanned, total } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
