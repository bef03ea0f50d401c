/**
 * Keeps the state on disk: a file of JSON lines that starts with a snapshot and grows by one line per write. It is rewritten
 * when most of it is history. It is not fsynced: it survives a killed process, but not a power failure.
 */
import { closeSync, existsSync, openSync, readFileSync, renameSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../types.ts';

/** A recorded write: the new state of an object, or its removal. */
export interface JournalRecord {
  storage: string;
  key: string;
  revision: number;
  /** Absent after a removal. */
  object?: KubeObject;
}

export interface Journal {
  /** The records in the file when it was opened, in order. */
  readonly records: readonly JournalRecord[];
  append(record: JournalRecord): void;
  /** Rewrites the file if it has far more lines than there are live objects. */
  compact(live: () => Iterable<JournalRecord>, count: number): void;
  close(): void;
}

/** Minimum number of superseded lines before a rewrite. */
const SLACK_LINES = 5000;

/** A journal that keeps nothing. */
export const memoryJournal = (): Journal => ({ records: [], append: () => undefined, compact: () => undefined, close: () => undefined });

/** Opens `state.jsonl` in `folder`. Drops a torn last line, which a process leaves that was killed during a write. */
export function openJournal(folder: string): Journal {
  const path = join(folder, 'state.jsonl');
  const records: JournalRecord[] = [];
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    let whole = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, whole)) {
      try {
        records.push(JSON.parse(bytes.toString('utf8', whole, end)) as JournalRecord);
      } catch (cause) {
        throw new Error(`${path}: line ${records.length + 1} is not valid JSON. Remove the folder to start with an empty state`, { cause });
      }
      whole = end + 1;
    }
    if (whole < bytes.length) truncateSync(path, whole);
  }
  let lines = records.length;
  let file = openSync(path, 'a', 0o600);
  return {
    records,
    append(record) {
      writeSync(file, `${JSON.stringify(record)}\n`);
      lines += 1;
    },
    compact(live, count) {
      if (lines < count * 2 + SLACK_LINES) return;
      const snapshot = [...live()];
      writeFileSync(`${path}.new`, snapshot.map((record) => `${JSON.stringify(record)}\n`).join(''), { mode: 0o600 });
      closeSync(file);
      renameSync(`${path}.new`, path);
      file = openSync(path, 'a', 0o600);
      lines = snapshot.length;
    },
    close: () => closeSync(file),
  };
}
