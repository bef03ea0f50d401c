/** Open cursors: query results that are sent in batches. */
import { CommandError } from '../errors.ts';
import { encode, type Doc } from '../values.ts';

export interface Cursors {
  /** Returns the first batch of a query and keeps the rest. */
  first(namespace: string, docs: readonly Doc[], batchSize: number | null, single?: boolean): Doc;
  /** @throws CommandError 43 if the cursor does not exist */
  more(id: bigint, batchSize: number | null): Doc;
  kill(ids: readonly bigint[]): { killed: bigint[]; missing: bigint[] };
  /** Closes cursors that were idle for ten minutes. */
  sweep(): void;
}

const FIRST_BATCH = 101;
const BATCH_BYTES = 16 * 1024 * 1024;
const IDLE_MS = 10 * 60_000;

/** Creates an empty table of cursors. */
export function openCursors(): Cursors {
  const cursors = new Map<bigint, { namespace: string; docs: readonly Doc[]; at: number; touched: number }>();
  let last = BigInt(Date.now()) << 20n; // IDs of an earlier process must not match.

  /** The documents of one batch, starting at `at`. */
  function batch(docs: readonly Doc[], at: number, size: number): Doc[] {
    const given: Doc[] = [];
    for (let bytes = 0; at + given.length < docs.length && given.length < size;) {
      const doc = docs[at + given.length]!;
      bytes += encode(doc).length;
      if (given.length > 0 && bytes > BATCH_BYTES) break;
      given.push(doc);
    }
    return given;
  }

  return {
    first(namespace, docs, batchSize, single = false) {
      const firstBatch = batch(docs, 0, batchSize ?? FIRST_BATCH);
      const done = single || firstBatch.length === docs.length;
      if (!done) cursors.set(++last, { namespace, docs, at: firstBatch.length, touched: performance.now() });
      return { cursor: { firstBatch, id: done ? 0n : last, ns: namespace } };
    },
    more(id, batchSize) {
      const cursor = cursors.get(id);
      if (cursor === undefined) throw new CommandError(43, `cursor id ${id} not found`);
      const nextBatch = batch(cursor.docs, cursor.at, batchSize ?? Infinity);
      cursor.at += nextBatch.length;
      cursor.touched = performance.now();
      const done = cursor.at >= cursor.docs.length;
      if (done) cursors.delete(id);
      return { cursor: { nextBatch, id: done ? 0n : id, ns: cursor.namespace } };
    },
    kill(ids) {
      const killed = ids.filter((id) => cursors.delete(id));
      return { killed, missing: ids.filter((id) => !killed.includes(id)) };
    },
    sweep() {
      for (const [id, cursor] of cursors) if (performance.now() - cursor.touched > IDLE_MS) cursors.delete(id);
    },
  };
}

/** A count in a command, or null if it is absent. @throws CommandError if it is not a whole number */
export function countOf(command: Doc, field: string): number | null {
  const value = command[field];
  if (value === undefined || value === null) return null;
  if (!Number.isInteger(value)) throw new CommandError(14, `${field} must be a whole number`);
  return value as number;
}
