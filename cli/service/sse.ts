/** Server-sent events as the API sends them: `id`, `data` and comments. */
import { createParser } from 'eventsource-parser';

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
