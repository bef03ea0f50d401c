/** Cuts the body of a watch into its events: one JSON document a line. */
import type { WatchEvent } from './kubernetes.ts';

/**
 * Lines may be cut anywhere by the network, within a character too; so bytes are gathered to the newline first and
 * decoded as a whole.
 * @param onBytes called whenever anything arrives
 * @throws Error if the body ends within a line: the event is lost, and whoever watches must not believe it had them all
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
