/** Takes an object's body in: counted, hashed and held against everything that was said of it, then kept. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import { chunkReader } from './chunked.ts';
import { Refusal } from './errors.ts';
import type { Shelf, StoredObject } from './shelf.ts';
import type { PayloadHash } from './signature.ts';

const CHUNKED = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
const KEPT_HEADERS = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'];
const REFUSED_HEADERS = [
  'if-match',
  'if-none-match',
  'x-amz-server-side-encryption-customer-key',
  'x-amz-object-lock-mode',
  'x-amz-tagging',
];
const CHECKSUM = 'x-amz-checksum-';

/**
 * Stores a request's body under a key.
 * @param maxBytes the largest object that is taken
 * @throws Refusal where body and promise differ; then nothing is stored
 */
export async function takeObject(
  request: IncomingMessage,
  key: string,
  payloadHash: PayloadHash,
  shelf: Shelf,
  maxBytes: number,
  now: () => Date,
): Promise<StoredObject> {
  const text = (name: string): string | null => (request.headers[name] as string | undefined) ?? null;
  for (const name of REFUSED_HEADERS)
    if (text(name) !== null) throw new Refusal('NotImplemented', `The header ${name} is not supported by the embedded object store.`);
  const body = await openBody(request, payloadHash);
  const promised = body.length;
  if (promised > maxBytes) throw tooLarge(maxBytes);

  const sums = { md5: createHash('md5'), sha1: createHash('sha1'), sha256: createHash('sha256') };
  let crc = 0;
  let size = 0;
  const draft = await shelf.begin(key);
  try {
    for await (const bytes of body.stream) {
      size += (bytes as Buffer).length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      for (const sum of Object.values(sums)) sum.update(bytes as Buffer);
      crc = crc32(bytes as Buffer, crc);
      await draft.write(bytes as Buffer);
    }
    if (size !== promised) throw new Refusal('IncompleteBody', `The body has ${size} bytes, not the ${promised} that were announced.`);
    const digests = { md5: sums.md5.digest(), sha1: sums.sha1.digest(), sha256: sums.sha256.digest(), crc32: crcBytes(crc) };
    if (/^[0-9a-f]{64}$/.test(payloadHash) && digests.sha256.toString('hex') !== payloadHash)
      throw new Refusal('XAmzContentSHA256Mismatch', "The provided 'x-amz-content-sha256' header does not match what was computed.");
    const md5 = text('content-md5');
    if (md5 !== null && md5 !== digests.md5.toString('base64'))
      throw new Refusal('BadDigest', 'The Content-MD5 you specified did not match what we received.');
    for (const [name, value] of checksums(request, body.trailers)) {
      const digest = digests[name as keyof typeof digests] as Buffer | undefined;
      if (digest === undefined || name === 'md5')
        throw new Refusal('NotImplemented', `Checksums by ${name} are not supported by the embedded object store.`);
      if (digest.toString('base64') !== value)
        throw new Refusal('BadDigest', `The ${name.toUpperCase()} you specified did not match the calculated checksum.`);
    }
    return await draft.commit({
      md5: digests.md5.toString('hex'),
      contentType: text('content-type') ?? 'binary/octet-stream',
      headers: keptHeaders(request),
      modified: now().getTime(),
    });
  } catch (error) {
    // A client that went away is no fault of ours.
    throw error instanceof Refusal || !request.destroyed || request.complete
      ? error
      : new Refusal('IncompleteBody', 'The connection ended before the body did.');
  } finally {
    await draft.discard();
  }
}

async function openBody(
  request: IncomingMessage,
  payloadHash: PayloadHash,
): Promise<{ stream: AsyncIterable<unknown>; length: number; trailers: Map<string, string> | null }> {
  const chunked = (request.headers['content-encoding'] ?? '').split(',').some((coding) => coding.trim() === 'aws-chunked');
  if (payloadHash.startsWith('STREAMING-') && payloadHash !== CHUNKED)
    throw new Refusal(
      'NotImplemented',
      `Bodies of kind ${payloadHash} are not supported by the embedded object store; send the body unsigned or whole.`,
    );
  if (chunked !== (payloadHash === CHUNKED))
    throw new Refusal('InvalidRequest', `A body in aws-chunked goes with x-amz-content-sha256: ${CHUNKED}, and no other does.`);
  const announced = request.headers[chunked ? 'x-amz-decoded-content-length' : 'content-length'];
  if (announced === undefined || !/^\d{1,15}$/.test(String(announced)))
    throw new Refusal('MissingContentLength', 'You must provide the Content-Length HTTP header.');
  if (!chunked) return { stream: request, length: Number(announced), trailers: null };
  const { stream, trailers } = chunkReader();
  request.once('error', (error) => stream.destroy(error));
  request.once('close', () => {
    if (!request.complete) stream.destroy(new Refusal('IncompleteBody', 'The connection ended before the body did.'));
  });
  return { stream: request.pipe(stream), length: Number(announced), trailers };
}

/** Checksums that were promised, in headers or, at the end, in trailers that the header announced. */
function checksums(request: IncomingMessage, trailers: Map<string, string> | null): [string, string][] {
  const announced = request.headers['x-amz-trailer'];
  if (typeof announced === 'string' && trailers?.has(announced.toLowerCase()) !== true)
    throw new Refusal('InvalidRequest', `The announced trailer ${announced} did not come.`);
  return [...Object.entries(request.headers), ...(trailers ?? [])].flatMap(([name, value]) => {
    if (!name.startsWith(CHECKSUM) || ['x-amz-checksum-type', 'x-amz-checksum-algorithm', 'x-amz-checksum-mode'].includes(name)) return [];
    return [[name.slice(CHECKSUM.length), String(value)] as [string, string]];
  });
}

/** The headers that come back with an object. @throws Refusal if they are too long */
export function keptHeaders(request: IncomingMessage): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value !== 'string' || !(KEPT_HEADERS.includes(name) || name.startsWith('x-amz-meta-'))) continue;
    const shown =
      name === 'content-encoding'
        ? value
            .split(',')
            .map((coding) => coding.trim())
            .filter((coding) => coding !== 'aws-chunked')
            .join(',')
        : value;
    if (shown !== '') kept[name] = shown;
  }
  if (JSON.stringify(kept).length > 8192)
    throw new Refusal('InvalidRequest', 'Your metadata headers exceed the maximum allowed metadata size.');
  return kept;
}

function crcBytes(crc: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes;
}

const tooLarge = (maxBytes: number): Refusal =>
  new Refusal('EntityTooLarge', 'Your proposed upload exceeds the maximum allowed object size.', { MaxSizeAllowed: String(maxBytes) });
