/** PutObject: stores a body after its length, hash and checksums are verified. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import { chunkReader } from './chunked.ts';
import { S3Error } from './errors.ts';
import type { Storage, StoredObject } from './storage.ts';
import type { PayloadHash } from './signature.ts';

const CHUNKED = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
const KEPT_HEADERS = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'];
const UNSUPPORTED_HEADERS = [
  'if-match',
  'if-none-match',
  'x-amz-server-side-encryption-customer-key',
  'x-amz-object-lock-mode',
  'x-amz-tagging',
];
const CHECKSUM = 'x-amz-checksum-';

/**
 * Stores a request's body under a key.
 * @param maxBytes the maximum size of an object, in bytes
 * @throws S3Error if the body does not match its declared length, hash or checksums; then nothing is stored
 */
export async function putObject(
  request: IncomingMessage,
  key: string,
  payloadHash: PayloadHash,
  storage: Storage,
  maxBytes: number,
  now: () => Date,
): Promise<StoredObject> {
  const text = (name: string): string | null => (request.headers[name] as string | undefined) ?? null;
  for (const name of UNSUPPORTED_HEADERS)
    if (text(name) !== null) throw new S3Error('NotImplemented', `The header ${name} is not supported by the embedded object store.`);
  const body = await openBody(request, payloadHash);
  const declared = body.length;
  if (declared > maxBytes) throw tooLarge(maxBytes);

  const sums = { md5: createHash('md5'), sha1: createHash('sha1'), sha256: createHash('sha256') };
  let crc = 0;
  let size = 0;
  const draft = await storage.begin(key);
  try {
    for await (const bytes of body.stream) {
      size += (bytes as Buffer).length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      for (const sum of Object.values(sums)) sum.update(bytes as Buffer);
      crc = crc32(bytes as Buffer, crc);
      await draft.write(bytes as Buffer);
    }
    if (size !== declared) throw new S3Error('IncompleteBody', `The body has ${size} bytes, not the declared ${declared}.`);
    const digests = { md5: sums.md5.digest(), sha1: sums.sha1.digest(), sha256: sums.sha256.digest(), crc32: crcBytes(crc) };
    if (/^[0-9a-f]{64}$/.test(payloadHash) && digests.sha256.toString('hex') !== payloadHash)
      throw new S3Error('XAmzContentSHA256Mismatch', "The provided 'x-amz-content-sha256' header does not match what was computed.");
    const md5 = text('content-md5');
    if (md5 !== null && md5 !== digests.md5.toString('base64'))
      throw new S3Error('BadDigest', 'The Content-MD5 you specified did not match what we received.');
    for (const [name, value] of checksums(request, body.trailers)) {
      const digest = digests[name as keyof typeof digests] as Buffer | undefined;
      if (digest === undefined || name === 'md5')
        throw new S3Error('NotImplemented', `Checksums by ${name} are not supported by the embedded object store.`);
      if (digest.toString('base64') !== value)
        throw new S3Error('BadDigest', `The ${name.toUpperCase()} you specified did not match the calculated checksum.`);
    }
    return await draft.commit({
      md5: digests.md5.toString('hex'),
      contentType: text('content-type') ?? 'binary/octet-stream',
      headers: keptHeaders(request),
      modified: now().getTime(),
    });
  } catch (error) {
    // If the client closed the connection, this is not a fault of the store.
    throw error instanceof S3Error || !request.destroyed || request.complete
      ? error
      : new S3Error('IncompleteBody', 'The connection was closed before the end of the body.');
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
    throw new S3Error(
      'NotImplemented',
      `Bodies of type ${payloadHash} are not supported by the embedded object store; send the body unsigned or in one piece.`,
    );
  if (chunked !== (payloadHash === CHUNKED))
    throw new S3Error('InvalidRequest', `x-amz-content-sha256 must be ${CHUNKED} for a body in aws-chunked, and only for such a body.`);
  const announced = request.headers[chunked ? 'x-amz-decoded-content-length' : 'content-length'];
  if (announced === undefined || !/^\d{1,15}$/.test(String(announced)))
    throw new S3Error('MissingContentLength', 'You must provide the Content-Length HTTP header.');
  if (!chunked) return { stream: request, length: Number(announced), trailers: null };
  const { stream, trailers } = chunkReader();
  request.once('error', (error) => stream.destroy(error));
  request.once('close', () => {
    if (!request.complete) stream.destroy(new S3Error('IncompleteBody', 'The connection was closed before the end of the body.'));
  });
  return { stream: request.pipe(stream), length: Number(announced), trailers };
}

/** The declared checksums, from headers and from trailers that a header announced. */
function checksums(request: IncomingMessage, trailers: Map<string, string> | null): [string, string][] {
  const announced = request.headers['x-amz-trailer'];
  if (typeof announced === 'string' && trailers?.has(announced.toLowerCase()) !== true)
    throw new S3Error('InvalidRequest', `The announced trailer ${announced} is missing.`);
  return [...Object.entries(request.headers), ...(trailers ?? [])].flatMap(([name, value]) => {
    if (!name.startsWith(CHECKSUM) || ['x-amz-checksum-type', 'x-amz-checksum-algorithm', 'x-amz-checksum-mode'].includes(name)) return [];
    return [[name.slice(CHECKSUM.length), String(value)] as [string, string]];
  });
}

/** The headers that are returned with an object. @throws S3Error if they are too long */
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
    throw new S3Error('InvalidRequest', 'Your metadata headers exceed the maximum allowed metadata size.');
  return kept;
}

function crcBytes(crc: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes;
}

const tooLarge = (maxBytes: number): S3Error =>
  new S3Error('EntityTooLarge', 'Your proposed upload exceeds the maximum allowed object size.', { MaxSizeAllowed: String(maxBytes) });
