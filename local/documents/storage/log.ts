/**
 * The append-only file behind the collections. Each record is a length, a CRC-32 and a BSON document; all changes of one
 * command are one write, made before the answer, so that an ended process loses nothing that it acknowledged. A torn
 * record at the end is dropped; compaction writes a new file and renames it.
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
import { Refusal } from '../errors.ts';
import { decode, encode, type Doc } from '../values.ts';

export interface ChangeLog {
  /** Bytes in the file. */
  readonly size: number;
  /** Notes a change; it is in the file after `flush`. @throws Refusal where a document is too large */
  note(change: Change): void;
  /** Writes what was noted. */
  flush(): void;
  /** Puts a file with just `changes` in the place of this one. */
  compact(changes: Iterable<Change>): void;
  close(): void;
}

const HEADER = 8;
const MAX_DOCUMENT = 16 * 1024 * 1024;
const FILE = /^documents-(\d{8})\.log$/;
const nameOf = (generation: number): string => `documents-${String(generation).padStart(8, '0')}.log`;

/**
 * Opens the newest log of a folder and gives its changes to `replay`, in order.
 * @throws Error where the file is damaged elsewhere than at its end
 */
export function openLog(folder: string, replay: (change: Change) => void): ChangeLog {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const generations = readdirSync(folder)
    .flatMap((name) => FILE.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  let generation = generations.at(-1) ?? 1;
  // What an interrupted compaction left: older files whose content is in the newest, and unfinished ones.
  for (const name of readdirSync(folder))
    if (name.startsWith('documents-') && name.includes('.log') && name !== nameOf(generation)) rmSync(join(folder, name));

  let file = openSync(join(folder, nameOf(generation)), 'a+', 0o600);
  let size = read(readFileSync(file), join(folder, nameOf(generation)), replay);
  ftruncateSync(file, size);
  let noted: Uint8Array[] = [];

  const append = (target: number, bytes: Uint8Array): void => {
    for (let done = 0; done < bytes.length;) done += writeSync(target, bytes, done);
  };

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
        ftruncateSync(file, size); // half a record in the middle would make the rest unreadable; all of it is tried again
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

/** @throws Refusal where a document is larger than MongoDB takes, 16 MiB */
export function refuseLarge(doc: Doc): void {
  const size = encode(doc).length;
  if (size > MAX_DOCUMENT) throw new Refusal(10334, `BSONObj size: ${size} is invalid. Size must be between 0 and ${MAX_DOCUMENT}`);
}

function record(change: Change): Uint8Array {
  const body = encode(change as unknown as Doc);
  if (body.length > MAX_DOCUMENT && change.kind === 'put') refuseLarge(change.doc);
  const header = Buffer.alloc(HEADER);
  header.writeUInt32LE(body.length, 0);
  header.writeUInt32LE(crc32(body), 4);
  return Buffer.concat([header, body]);
}

/** @returns how many bytes are whole records */
function read(bytes: Buffer, path: string, replay: (change: Change) => void): number {
  let at = 0;
  while (at + HEADER <= bytes.length) {
    const end = at + HEADER + bytes.readUInt32LE(at);
    if (end > bytes.length) break;
    const body = bytes.subarray(at + HEADER, end);
    if (body.length === 0 || crc32(body) !== bytes.readUInt32LE(at + 4)) {
      if (end === bytes.length || bytes.subarray(at).every((byte) => byte === 0)) break;
      throw new Error(`${path} is damaged at byte ${at}; move it away to start with an empty store, or put a copy in its place.`);
    }
    replay(decode(body) as unknown as Change);
    at = end;
  }
  return at;
}
