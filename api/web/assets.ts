/**
 * The style sheet and the scripts of the pages, below an address that contains a digest of all of them: browsers may keep
 * them for ever, and modules can import each other by relative paths.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { pack, type Packed } from './packed.ts';
import { tokensCss } from './tokens.ts';

const FOLDER = join(import.meta.dirname, 'assets');
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Asset extends Packed {
  type: string;
}

export interface Assets {
  /** The digest in their addresses. */
  version: string;
  /** The address of a file. @throws Error if there is no such file */
  url(name: string): string;
  find(name: string): Asset | undefined;
}

/** Reads and compresses the files. The tokens come first in `site.css`. */
export async function loadAssets(): Promise<Assets> {
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES).sort();
  const contents = await Promise.all(names.map((name) => readFile(join(FOLDER, name), 'utf8')));
  const files = names.map((name, at) => [name, (name === 'site.css' ? `${tokensCss()}\n` : '') + contents[at]!] as const);
  const digest = createHash('sha256');
  for (const [name, text] of files) digest.update(`${name}\0${text}\0`);
  const version = digest.digest('hex').slice(0, 12);
  const assets = new Map(
    await Promise.all(files.map(async ([name, text]) => [name, { type: TYPES[extname(name)]!, ...(await pack(text)) }] as const)),
  );
  return {
    version,
    url(name) {
      if (!assets.has(name)) throw new Error(`no asset ${name}`);
      return `/assets/${version}/${name}`;
    },
    find: (name) => assets.get(name),
  };
}
