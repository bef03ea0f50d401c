/** Follows a scan to its end through the event stream, or by polling if streams do not work. */
import { Value } from 'typebox/value';
import { createParser } from 'eventsource-parser';
import { isTerminal } from '../../core/scan/phases.ts';
import { CliError } from '../errors.ts';
import { parsedJson } from '../values.ts';
import { causeOf, readAnswer, reasonOf, refusal } from './answers.ts';
import { createWatchdog, type Watchdog } from './budget.ts';
import type { Client } from './client.ts';
import { Complete, Progress, type ScanResult } from './messages.ts';
import { REQUEST_TIMEOUT_MS } from './requests.ts';

/** Server-sent events as the API sends them: `id`, `data` and comments. */
export interface ServerEvent {
  /** The last ID that the stream sent, as in the browser's `lastEventId`; null before the first one. */
  id: string | null;
  data: string;
}

/** Maximum length of an event in bytes. The API's events are far shorter. */
const EVENT_MAX = 1024 * 1024;

/**
 * Reads events from a stream.
 * @param onActivity called for each chunk, also if it contains only comments
 * @throws RangeError if an event is longer than 1 MiB
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>, onActivity: () => void = () => {}): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let id: string | null = null;
  let events: ServerEvent[] = [];
  let unfinished = 0;
  const parser = createParser({
    onId: (next) => (id = next),
    onComment: () => (unfinished = 0),
    onEvent({ data }) {
      unfinished = 0;
      events.push({ id, data });
    },
  });
  for await (const chunk of chunks) {
    onActivity();
    unfinished += chunk.length;
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events;
    events = [];
    if (unfinished > EVENT_MAX) throw new RangeError('an event is too long');
  }
}

/** The progress of a scan. `pages` is null after a poll, which has no page counts. */
export interface Step {
  /** May be a phase that this version does not define. */
  phase: string;
  pages: { scanned: number; total: number } | null;
  /** What the scan waits for, if it is not only its turn. */
  message?: string | null;
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
const MAX_BETWEEN_POLLS_SECONDS = 60;
/** The service sends the current state at once. A stream that does not may use this share of the budget; the rest is for the poll. */
const OPENING_SHARE = 0.5;

type Ended = { result: ScanResult } | { result: null; news: boolean; waitSeconds: number | null };

/**
 * Waits for the end of a scan.
 * @throws CliError if the scan does not exist, the key is rejected, or the service stays unavailable
 */
export async function followScan(client: Client, scanId: string, options: FollowOptions = {}): Promise<ScanResult> {
  const { sleep, signal } = client.options;
  const oneStream = streamsOf(client, scanId, options);
  let emptyStreams = 0;
  for (;;) {
    signal.throwIfAborted();
    let streaming = false;
    if (emptyStreams < MAX_EMPTY_STREAMS) {
      const ended = await oneStream();
      if (ended.result !== null) return ended.result;
      emptyStreams = ended.news ? 0 : emptyStreams + 1;
      if (ended.news) {
        await sleep(BETWEEN_STREAMS_MS, signal);
        continue;
      }
      if (ended.waitSeconds === null) await sleep(client.budget.limit(BETWEEN_STREAMS_MS, OPENING_SHARE), signal);
      // A longer wait is refused by the poll below, which names the reason.
      else if (ended.waitSeconds < client.budget.left()) await sleep(ended.waitSeconds * 1000, signal);
      streaming = emptyStreams < MAX_EMPTY_STREAMS;
      if (!streaming) client.options.onWait?.('The event stream sends no events; polling instead', 0);
    }
    // If the service is unavailable, this waits until the budget is used up.
    const { result, retryAfterSeconds } = await client.poll(scanId);
    if (isTerminal(result.status)) return result;
    options.onStep?.({ phase: result.status, pages: null, message: result.message });
    if (!streaming) await sleep(Math.min(retryAfterSeconds ?? BETWEEN_POLLS_SECONDS, MAX_BETWEEN_POLLS_SECONDS) * 1000, signal);
  }
}

/** Returns a function that opens a stream and reads it to its end. Each stream continues where the last one ended. */
function streamsOf(client: Client, scanId: string, options: FollowOptions): () => Promise<Ended> {
  const { signal } = client.options;
  const { budget } = client;
  let lastEventId: string | null = null;

  /** Until the first data arrives, the time counts as unavailable, unless the poll that follows succeeds. */
  async function oneStream(): Promise<Ended> {
    budget.start();
    const watchdog = createWatchdog(budget.limit(REQUEST_TIMEOUT_MS, OPENING_SHARE));
    const stream: { news: boolean } = { news: false };
    try {
      const response = await client.send(`/v1/ci/scans/${encodeURIComponent(scanId)}/events`, {
        headers: { Accept: 'text/event-stream', ...(lastEventId !== null && { 'Last-Event-ID': lastEventId }) },
        signal: AbortSignal.any([signal, watchdog.signal]),
      });
      if (response.status !== 200 || !response.headers.get('content-type')?.startsWith('text/event-stream') || response.body === null) {
        const answer = await readAnswer(response);
        if ([401, 403, 404, 422].includes(answer.status)) throw refusal(answer, client.options.baseUrl);
        if (answer.retryAfterSeconds !== null) client.options.onWait?.(reasonOf(answer), answer.retryAfterSeconds);
        return { result: null, news: false, waitSeconds: answer.retryAfterSeconds };
      }
      const result = await readStream(response.body, watchdog, stream);
      if (result !== null) return { result };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CliError) throw error;
      // A broken stream is reopened. If the service is down, polling reports it.
      if (!stream.news) client.options.onWait?.(`The event stream broke (${causeOf(error)})`, BETWEEN_STREAMS_MS / 1000);
    } finally {
      watchdog.stop();
    }
    return { result: null, news: stream.news, waitSeconds: null };
  }

  /** Returns the result of the last event, or null if the stream ended without one. */
  async function readStream(body: AsyncIterable<Uint8Array>, watchdog: Watchdog, stream: { news: boolean }): Promise<ScanResult | null> {
    const onActivity = (): void => {
      budget.served();
      watchdog.touch(options.idleMs ?? IDLE_MS);
    };
    for await (const event of readEvents(body, onActivity)) {
      const data = parsedJson(event.data);
      if (event.id !== null && event.id !== lastEventId) {
        stream.news = true;
        lastEventId = event.id;
      }
      if (Value.Check(Complete, data)) return data;
      if (Value.Check(Progress, data)) options.onStep?.(stepOf(data));
    }
    return null;
  }

  return oneStream;
}

function stepOf({ status, pages_scanned: scanned, pages_total: total, message = null }: Progress): Step {
  return { phase: status, pages: scanned === undefined || total === undefined ? null : { scanned, total }, message };
}
