/**
 * Objects on disk, each in one file that is written aside and renamed: its bytes, then a description of it as JSON, then
 * the description's length. Files are named by the digest of the key, so no key can lead out of the folder.
 */
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

export interface StoredObject {
  key: string;
  /** In bytes. */
  size: number;
  /** MD5 in hexadecimal, as S3 gives it for objects put in one request. */
  md5: string;
  contentType: string;
  /** Headers that come back with the object: content-disposition, cache-control, x-amz-meta-… */
  headers: Record<string, string>;
  /** Milliseconds since 1970. */
  modified: number;
}

export interface Shelf {
  /** Objects whose key begins with `prefix`, by key in UTF-8 order. */
  list(prefix: string): StoredObject[];
  /** A new object that nobody sees before `commit`. */
  begin(key: string): Promise<Draft>;
  /** Opens an object's file for reading; what is read stays the same if it is replaced meanwhile. Null if there is none. */
  read(key: string): Promise<{ object: StoredObject; file: FileHandle } | null>;
  remove(key: string): void;
}

export interface Draft {
  write(bytes: Uint8Array): Promise<void>;
  commit(description: Omit<StoredObject, 'key' | 'size'>): Promise<StoredObject>;
  /** Forgets it. Idempotent, and harmless after `commit`. */
  discard(): Promise<void>;
}

const LENGTH_BYTES = 4;

/** Opens a folder of objects. What an interrupted upload left is removed; a file that is not whole is passed over. */
export function openShelf(folder: string): Shelf {
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
    async begin(key) {
      const path = join(drafts, randomUUID());
      const file = await open(path, 'wx', 0o600);
      let size = 0;
      let over = false;
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
          over = true;
          // In one breath, or of two uploads at once the list could show one and the disk hold the other.
          renameSync(path, pathOf(key));
          known.set(key, object);
          return object;
        },
        async discard() {
          if (over) return;
          over = true;
          await file.close();
          await rm(path, { force: true });
        },
      };
    },
    async read(key) {
      if (!known.has(key)) return null;
      const file = await open(pathOf(key), 'r').catch(() => null);
      if (file === null) return null;
      // The description of the very file that was opened: a newer one may have taken its place since.
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
