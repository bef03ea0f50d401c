/**
 * Objects on disk. Each is one file: the object's bytes, then its description as JSON, then the length of the description.
 * A file is written to another folder first and then renamed. Its name is the digest of the key, so that no key can refer
 * to a file outside the folder.
 */
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

export interface StoredObject {
  key: string;
  /** In bytes. */
  size: number;
  /** MD5 in hexadecimal, as S3's ETag of objects that are uploaded in one request. */
  md5: string;
  contentType: string;
  /** Headers that are returned with the object: content-disposition, cache-control, x-amz-meta-… */
  headers: Record<string, string>;
  /** Milliseconds since 1970. */
  modified: number;
}

export interface Storage {
  /** Objects whose key starts with `prefix`, sorted by key in UTF-8 order. */
  list(prefix: string): StoredObject[];
  /** Starts a new object. It becomes visible on `commit`. */
  begin(key: string): Promise<Draft>;
  /** Opens an object for reading; null if it does not exist. A later replacement does not change what is read. */
  read(key: string): Promise<{ object: StoredObject; file: FileHandle } | null>;
  remove(key: string): void;
}

export interface Draft {
  write(bytes: Uint8Array): Promise<void>;
  commit(description: Omit<StoredObject, 'key' | 'size'>): Promise<StoredObject>;
  /** Deletes the draft. Idempotent; does nothing after `commit`. */
  discard(): Promise<void>;
}

const LENGTH_BYTES = 4;

/** Opens a folder of objects. Removes interrupted uploads and ignores incomplete files. */
export function openStorage(folder: string): Storage {
  const [objects, drafts] = [join(folder, 'objects'), join(folder, 'drafts')];
  rmSync(drafts, { recursive: true, force: true });
  for (const path of [objects, drafts]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const known = new Map<string, StoredObject>();
  for (const name of readdirSync(objects)) {
    const object = describe(join(objects, name));
    if (object !== null && nameOf(object.key) === name) known.set(object.key, object);
  }
  const pathOf = (key: string): string => join(objects, nameOf(key));

  return {
    list: (prefix) =>
      [...known.values()]
        .filter(({ key }) => key.startsWith(prefix))
        .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))),
    begin: (key) =>
      beginDraft(join(drafts, randomUUID()), key, (path, object) => {
        // Both in one tick: with two concurrent uploads, the list could otherwise show one and the disk contain the other.
        renameSync(path, pathOf(key));
        known.set(key, object);
      }),
    async read(key) {
      if (!known.has(key)) return null;
      const file = await open(pathOf(key), 'r').catch(() => null);
      if (file === null) return null;
      // Read the description from the opened file, because a newer file may have replaced it.
      const object = describeOpen(file.fd);
      if (object !== null) return { object, file };
      await file.close();
      return null;
    },
    remove(key) {
      if (known.delete(key)) rmSync(pathOf(key), { force: true });
    },
  };
}

/** @param publish makes the written file visible */
async function beginDraft(path: string, key: string, publish: (path: string, object: StoredObject) => void): Promise<Draft> {
  const file = await open(path, 'wx', 0o600);
  let size = 0;
  let isClosed = false;
  return {
    async write(bytes) {
      await file.writeFile(bytes);
      size += bytes.byteLength;
    },
    async commit(description) {
      const object: StoredObject = { key, size, ...description };
      const text = Buffer.from(JSON.stringify(object));
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(text.length);
      await file.writeFile(Buffer.concat([text, length]));
      await file.sync();
      await file.close();
      isClosed = true;
      publish(path, object);
      return object;
    },
    async discard() {
      if (isClosed) return;
      isClosed = true;
      await file.close();
      await rm(path, { force: true });
    },
  };
}

const nameOf = (key: string): string => createHash('sha256').update(key).digest('hex');

function describe(path: string): StoredObject | null {
  const file = openSync(path, 'r');
  try {
    return describeOpen(file);
  } finally {
    closeSync(file);
  }
}

function describeOpen(file: number): StoredObject | null {
  const { size } = fstatSync(file);
  const part = (length: number, position: number): Buffer => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, position));
  };
  if (size < LENGTH_BYTES) return null;
  const length = part(LENGTH_BYTES, size - LENGTH_BYTES).readUInt32LE();
  if (length + LENGTH_BYTES > size) return null;
  try {
    const object = JSON.parse(part(length, size - LENGTH_BYTES - length).toString()) as StoredObject;
    return object.size === size - LENGTH_BYTES - length ? object : null;
  } catch {
    return null;
  }
}
