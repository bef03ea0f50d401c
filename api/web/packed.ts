/** Contents that are compressed once, for responses that do not change while the process runs. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Html } from './html.ts';

export interface Packed {
  plain: Buffer;
  gzip: Buffer;
  br: Buffer;
}

export async function pack(text: string): Promise<Packed> {
  const plain = Buffer.from(text);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } };
  const [gzipped, br] = await Promise.all([promisify(gzip)(plain), promisify(brotliCompress)(plain, quality)]);
  return { plain, gzip: gzipped, br };
}

/** Whether the client accepts an encoding. */
export const accepts = (request: FastifyRequest, encoding: string): boolean =>
  new RegExp(`(?:^|[\\s,])${encoding}(?!\\s*;\\s*q=0(?:\\.0*)?\\s*(?:,|$))`, 'i').test(String(request.headers['accept-encoding'] ?? ''));

/** Sends the smallest content that the client accepts. */
export function sendPacked(request: FastifyRequest, reply: FastifyReply, packed: Packed): FastifyReply {
  const encoding = (['br', 'gzip'] as const).find((one) => accepts(request, one));
  if (encoding !== undefined) reply.header('Content-Encoding', encoding);
  return reply.send(encoding === undefined ? packed.plain : packed[encoding]);
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
