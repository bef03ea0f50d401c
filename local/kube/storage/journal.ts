/**
 * Keeps the state on disk: one file of JSON lines that begins with a snapshot and grows by a line a write. Rewritten
 * when most of it is history. Not fsynced: it survives a killed process, not a power cut.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder } from './lock.ts';
import type { KubeObject } from '../types.ts';

/** A write as it is kept: the object's new state, or that it is gone. */
export interface JournalRecord {
  storage: string;
  key: string;
  revision: number;
  /** Absent: it was removed. */
  object?: KubeObject;
}

export interface Journal {
  /** What the file held when it was opened, in order. */
  readonly records: readonly JournalRecord[];
  append(record: JournalRecord): void;
  /** Rewrites the file when it holds far more lines than there are live objects. */
  compact(live: () => Iterable<JournalRecord>, count: number): void;
  close(): void;
}

/** Lines beyond the live objects that are worth a rewrite. */
const SLACK_LINES = 5000;

/** Without a folder nothing is kept. */
export const memoryJournal = (): Journal => ({ records: [], append: () => undefined, compact: () => undefined, close: () => undefined });

/** Opens `state.jsonl` in `folder`; a torn last line (the process was killed in the middle of a write) is dropped. */
export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unlock = lockFolder(folder);
  const path = join(folder, 'state.jsonl');
  const records: JournalRecord[] = [];
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    let whole = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, whole)) {
      try {
        records.push(JSON.parse(bytes.toString('utf8', whole, end)) as JournalRecord);
      } catch (cause) {
        throw new Error(`${path}: line ${records.length + 1} is not JSON; remove the folder to start afresh`, { cause });
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
    close() {
      closeSync(file);
      unlock();
    },
  };
}
