/** Follows a scan to its end through the event stream, or by polling if streams do not work. */
import { Value } from 'typebox/value';
import { isTerminal } from '../core/scan/phases.ts';
import { readAnswer, reasonOf, refusal, retryAfterOf, causeOf, type Client } from './client.ts';
import { CliError } from './errors.ts';
import { Complete, Progress, type ScanResult } from './messages.ts';
import { readEvents } from './sse.ts';

/** The progress of a scan. `pages` is null after a poll, which has no page counts. */
export interface Step {
  /** May be a phase that this version does not define. */
  phase: string;
  pages: { scanned: number; total: number } | null;
}

export interface FollowOptions {
  onStep?: (step: Step) => void;
  /** A stream without any data for this time is dead: the service sends a comment every 15 s. */
  idleMs?: number;
}

const IDLE_MS = 45_000;
/** Consecutive streams without an event before falling back to polling: a proxy may buffer them. */
const MAX_EMPTY_STREAMS = 3;
const BETWEEN_STREAMS_MS = 1_000;
const BETWEEN_POLLS_SECONDS = 5;

type Ended = { result: ScanResult } | { result: null; opened: boolean; news: boolean; waitSeconds: number | null };

/**
 * Waits for the end of a scan.
 * @throws CliError if the scan does not exist, the key is rejected, or the service stays unavailable
 */
export async function followScan(client: Client, scanId: string, options: FollowOptions = {}): Promise<ScanResult> {
  const { sleep, signal } = client.options;
  let lastEventId: string | null = null;
  let emptyStreams = 0;
  for (;;) {
    signal.throwIfAborted();
    let streaming = false;
    if (emptyStreams < MAX_EMPTY_STREAMS) {
      const ended = await oneStream();
      if (ended.result !== null) return ended.result;
      if (ended.opened) emptyStreams = ended.news ? 0 : emptyStreams + 1;
      await sleep(ended.waitSeconds === null ? BETWEEN_STREAMS_MS : ended.waitSeconds * 1000, signal);
      if (ended.news) continue;
      streaming = emptyStreams < MAX_EMPTY_STREAMS;
      if (!streaming) client.options.onWait?.('The event stream sends no events; polling instead', 0);
    }
    // If the service is unavailable, this waits for up to maxWaitSeconds.
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
      // A broken stream is reopened. If the service is down, polling reports it.
      if (!news)
        client.options.onWait?.(`The event stream broke (${idle.signal.aborted ? 'no data' : causeOf(error)})`, BETWEEN_STREAMS_MS / 1000);
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
