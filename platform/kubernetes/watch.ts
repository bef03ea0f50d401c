/** Splits the body of a watch into its events: one JSON document per line. */
import type { WatchEvent } from './kubernetes.ts';

/**
 * The network may split a line anywhere, even within a character, so bytes are collected up to the newline and then
 * decoded as a whole.
 * @param onBytes called whenever bytes arrive
 * @throws Error if the body ends within a line: an event is lost, and the watcher must not assume that it received all events
 */
export async function* readEvents<T>(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<WatchEvent<T>, void> {
  let pieces: Uint8Array[] = [];
  for await (const chunk of body) {
    onBytes();
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      const line = Buffer.concat(pieces).toString('utf8');
      pieces = [];
      start = end + 1;
      if (line.trim()) yield JSON.parse(line) as WatchEvent<T>;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
  const rest = Buffer.concat(pieces).toString('utf8');
  if (rest.trim()) throw new Error('the watch ended in the middle of an event');
}
