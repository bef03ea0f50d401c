/**
 * The style sheet and the scripts of the pages, below an address that contains a digest of all of them. So browsers may keep them
 * for ever, and modules can import each other by relative paths.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FONT_FILE, siteCss, webFont } from '../../report/html/tokens.ts';
import type { Html } from '../../report/html/html.ts';

const FOLDER = join(import.meta.dirname, 'assets');
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};
/** Page 1 of a report of the demo site, which `make pictures` takes. */
export const EXAMPLE_FILE = 'report.png';
const PICTURES = join(import.meta.dirname, '..', '..', 'docs', 'pictures');

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

/** Reads and compresses the files, and the style sheet and the typeface that reports have too. */
export async function loadAssets(): Promise<Assets> {
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES).sort();
  const contents = await Promise.all(names.map(async (name) => [name, await readFile(join(FOLDER, name), 'utf8')] as const));
  const font = Buffer.from(webFont(), 'base64');
  const example = await readFile(join(PICTURES, EXAMPLE_FILE));
  const files = [...contents, ['site.css', siteCss(FONT_FILE)], [FONT_FILE, font], [EXAMPLE_FILE, example]] as const;
  const digest = createHash('sha256');
  for (const [name, content] of files) digest.update(`${name}\0`).update(content).update('\0');
  const version = digest.digest('hex').slice(0, 12);
  const assets = new Map(
    await Promise.all(files.map(async ([name, content]) => [name, { type: TYPES[extname(name)]!, ...(await pack(content)) }] as const)),
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

interface Packed {
  plain: Buffer;
  /** What it is compressed to, if that makes it smaller. */
  gzip?: Buffer;
  br?: Buffer;
}

/** Compresses a text; typefaces and pictures are compressed already. */
async function pack(content: string | Buffer): Promise<Packed> {
  if (Buffer.isBuffer(content)) return { plain: content };
  const plain = Buffer.from(content);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } };
  const [gzipped, br] = await Promise.all([promisify(gzip)(plain), promisify(brotliCompress)(plain, quality)]);
  return { plain, gzip: gzipped, br };
}

/** Whether the client accepts an encoding. */
export const accepts = (request: FastifyRequest, encoding: string): boolean =>
  new RegExp(`(?:^|[\\s,])${encoding}(?!\\s*;\\s*q=0(?:\\.0*)?\\s*(?:,|$))`, 'i').test(String(request.headers['accept-encoding'] ?? ''));

/** Sends the smallest content that the client accepts. */
export function sendPacked(request: FastifyRequest, reply: FastifyReply, packed: Packed): FastifyReply {
  const encoding = (['br', 'gzip'] as const).find((one) => packed[one] !== undefined && accepts(request, one));
  if (encoding !== undefined) reply.header('Content-Encoding', encoding);
  return reply.send(packed[encoding ?? 'plain']);
}

/** A page that is the same for every visitor. */
export interface FixedPage extends Packed {
  /** Weak, because it is the same for every encoding. */
  etag: string;
}

/** Compresses a page. It must not depend on the request that it was made for. */
export async function fixedPage(page: Html): Promise<FixedPage> {
  const text = page.toString();
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { ...(await pack(text)), etag: `W/"${digest}"` };
}

/** Whether the client has the page already (`If-None-Match`). */
export function isKnown(request: FastifyRequest, { etag }: FixedPage): boolean {
  const known = (request.headers['if-none-match'] ?? '').split(',').map((one) => one.trim());
  const opaque = etag.replace('W/', '');
  return known.some((one) => one === '*' || one.replace('W/', '') === opaque);
}
