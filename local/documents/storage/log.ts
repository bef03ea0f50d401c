/**
 * The append-only file behind the collections. Each record is a length, a CRC-32 and a BSON document. All changes of one command
 * are one write before the response, so that a killed process loses no acknowledged write. A torn record at the end is dropped.
 * Compaction writes a new file and renames it.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Change } from './collection.ts';
import { CommandError } from '../errors.ts';
import { decode, encode, type Doc } from '../values.ts';

export interface ChangeLog {
  /** File size in bytes. */
  readonly size: number;
  /** Buffers a change until `flush`. @throws CommandError if a document is too large */
  note(change: Change): void;
  /** Writes the buffered changes. */
  flush(): void;
  /** Replaces the file with one that contains only `changes`. */
  compact(changes: Iterable<Change>): void;
  close(): void;
}

const HEADER = 8;
const MAX_DOCUMENT = 16 * 1024 * 1024;
const FILE = /^documents-(\d{8})\.log$/;
const append = (file: number, bytes: Uint8Array): void => {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
};
const nameOf = (generation: number): string => `documents-${String(generation).padStart(8, '0')}.log`;

/**
 * Opens the newest log of a folder and passes its changes to `replay`, in order.
 * @throws Error if the file is damaged anywhere but at its end
 */
export function openLog(folder: string, replay: (change: Change) => void): ChangeLog {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let generation = newestGeneration(folder);
  let file = openSync(join(folder, nameOf(generation)), 'a+', 0o600);
  let size = read(readFileSync(file), join(folder, nameOf(generation)), replay);
  ftruncateSync(file, size);
  let noted: Uint8Array[] = [];

  return {
    get size() {
      return size;
    },
    note(change) {
      noted.push(record(change));
    },
    flush() {
      if (noted.length === 0) return;
      const bytes = Buffer.concat(noted);
      try {
        append(file, bytes);
      } catch (error) {
        ftruncateSync(file, size); // A partial record would make the rest unreadable. The whole write is retried.
        throw error;
      }
      noted = [];
      size += bytes.length;
    },
    compact(changes) {
      const unfinished = join(folder, `${nameOf(generation + 1)}.new`);
      const target = openSync(unfinished, 'w', 0o600);
      let written = 0;
      for (const change of changes) {
        const bytes = record(change);
        append(target, bytes);
        written += bytes.length;
      }
      fsyncSync(target);
      closeSync(target);
      renameSync(unfinished, join(folder, nameOf(generation + 1)));
      closeSync(file);
      rmSync(join(folder, nameOf(generation)));
      generation += 1;
      file = openSync(join(folder, nameOf(generation)), 'a', 0o600);
      size = written;
    },
    close() {
      fsyncSync(file);
      closeSync(file);
    },
  };
}

/** @throws CommandError if a document is larger than MongoDB's limit of 16 MiB */
export function rejectLarge(doc: Doc): void {
  const size = encode(doc).length;
  if (size > MAX_DOCUMENT) throw new CommandError(10334, `BSONObj size: ${size} is invalid. Size must be between 0 and ${MAX_DOCUMENT}`);
}

function record(change: Change): Uint8Array {
  const body = encode(change);
  if (body.length > MAX_DOCUMENT && change.kind === 'put') rejectLarge(change.doc);
  const header = Buffer.alloc(HEADER);
  header.writeUInt32LE(body.length, 0);
  header.writeUInt32LE(crc32(body), 4);
  return Buffer.concat([header, body]);
}

/** The number of the newest log. Removes what an interrupted compaction leaves: unfinished files, and older ones whose content it has. */
function newestGeneration(folder: string): number {
  const generations = readdirSync(folder).map((name) => Number(FILE.exec(name)?.[1] ?? 0));
  const newest = Math.max(...generations, 0) || 1;
  for (const name of readdirSync(folder))
    if (name.startsWith('documents-') && name.includes('.log') && name !== nameOf(newest)) rmSync(join(folder, name));
  return newest;
}

/** @returns the number of bytes in complete records */
function read(bytes: Buffer, path: string, replay: (change: Change) => void): number {
  let at = 0;
  while (at + HEADER <= bytes.length) {
    const end = at + HEADER + bytes.readUInt32LE(at);
    if (end > bytes.length) break;
    const body = bytes.subarray(at + HEADER, end);
    if (body.length === 0 || crc32(body) !== bytes.readUInt32LE(at + 4)) {
      if (end === bytes.length || bytes.subarray(at).every((byte) => byte === 0)) break;
      throw new Error(`${path} is damaged at byte ${at}; restore it from a copy, or move it away to start with an empty store.`);
    }
    replay(decode(body) as unknown as Change);
    at = end;
  }
  return at;
}
