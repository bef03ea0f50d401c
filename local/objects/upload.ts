/** PutObject: stores a body after its length and hash are verified. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { S3Error } from './errors.ts';
import type { Storage, StoredObject } from './storage.ts';
import { decodePercent, type PayloadHash } from './signature.ts';
import { document } from './xml.ts';

const KEPT_HEADERS = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'];
const UNSUPPORTED_HEADERS = /^(if-|content-md5$|x-amz-(checksum-|trailer$|server-side-encryption|object-lock|tagging))/;

/**
 * Stores a request's body under a key.
 * @param maxBytes the maximum size of an object, in bytes
 * @throws S3Error if the body does not match its declared length or hash; then nothing is stored
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
  for (const name of Object.keys(request.headers))
    if (UNSUPPORTED_HEADERS.test(name))
      throw new S3Error('NotImplemented', `The header ${name} is not supported by the embedded object store.`);
  const declared = declaredSize(request, payloadHash);
  if (declared > maxBytes) throw tooLarge(maxBytes);

  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  let size = 0;
  const draft = await storage.begin(key);
  try {
    for await (const bytes of request as AsyncIterable<Buffer>) {
      size += bytes.length;
      md5.update(bytes);
      sha256.update(bytes);
      await draft.write(bytes);
    }
    if (size !== declared) throw new S3Error('IncompleteBody', `The body has ${size} bytes, not the declared ${declared}.`);
    if (/^[0-9a-f]{64}$/.test(payloadHash) && sha256.digest('hex') !== payloadHash)
      throw new S3Error('XAmzContentSHA256Mismatch', "The provided 'x-amz-content-sha256' header does not match what was computed.");
    return await draft.commit({
      md5: md5.digest('hex'),
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

/** The declared size of the body. @throws S3Error */
function declaredSize(request: IncomingMessage, payloadHash: PayloadHash): number {
  if (payloadHash.startsWith('STREAMING-'))
    throw new S3Error('NotImplemented', `Bodies of type ${payloadHash} are not supported by the embedded object store.`);
  const length = request.headers['content-length'];
  if (length === undefined || !/^\d{1,15}$/.test(length))
    throw new S3Error('MissingContentLength', 'You must provide the Content-Length HTTP header.');
  return Number(length);
}

/** The headers that are returned with an object. @throws S3Error if they are too long */
export function keptHeaders(request: IncomingMessage): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value !== 'string' || !(KEPT_HEADERS.includes(name) || name.startsWith('x-amz-meta-'))) continue;
    kept[name] = value;
  }
  if (JSON.stringify(kept).length > 8192)
    throw new S3Error('InvalidRequest', 'Your metadata headers exceed the maximum allowed metadata size.');
  return kept;
}

const tooLarge = (maxBytes: number): S3Error =>
  new S3Error('EntityTooLarge', 'Your proposed upload exceeds the maximum allowed object size.', { MaxSizeAllowed: String(maxBytes) });

/** CopyObject: copies an object within the bucket, optionally only if the source has a given ETag. */
const UNSUPPORTED_COPY_HEADERS = [
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-unmodified-since',
  'x-amz-tagging-directive',
  'x-amz-server-side-encryption-customer-key',
];

/** Handles a PUT with `x-amz-copy-source`. @throws S3Error */
export async function copyObject(
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  { bucket, storage, now }: { bucket: string; storage: Storage; now: () => Date },
): Promise<void> {
  const text = (name: string): string | undefined => request.headers[name] as string | undefined;
  for (const name of UNSUPPORTED_COPY_HEADERS)
    if (text(name) !== undefined) throw new S3Error('NotImplemented', `The header ${name} is not supported by the embedded object store.`);
  if (text('x-amz-metadata-directive') !== 'REPLACE')
    throw new S3Error('NotImplemented', 'The embedded object store copies only with the metadata directive REPLACE.');
  const source = sourceKey(text('x-amz-copy-source')!, bucket);
  const opened = await storage.read(source);
  if (opened === null) throw new S3Error('NoSuchKey', 'The specified key does not exist.', { Key: source });
  const { object, file } = opened;
  try {
    const wanted = text('x-amz-copy-source-if-match');
    if (wanted !== undefined && wanted.replaceAll('"', '') !== object.md5)
      throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold', {
        Condition: 'x-amz-copy-source-If-Match',
      });
    const draft = await storage.begin(key);
    try {
      if (object.size > 0)
        for await (const bytes of file.createReadStream({ start: 0, end: object.size - 1, autoClose: false }))
          await draft.write(bytes as Buffer);
      const copy = await draft.commit({
        md5: object.md5,
        contentType: text('content-type') ?? 'binary/octet-stream',
        headers: keptHeaders(request),
        modified: now().getTime(),
      });
      const result = document('CopyObjectResult', { LastModified: new Date(copy.modified).toISOString(), ETag: `"${copy.md5}"` });
      response.writeHead(200, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(result) }).end(result);
    } finally {
      await draft.discard();
    }
  } finally {
    await file.close();
  }
}

/** The key in a percent-encoded `bucket/key` or `/bucket/key`. @throws S3Error if it names another bucket */
function sourceKey(header: string, bucket: string): string {
  const [from = '', ...rest] = decodePercent(header).replace(/^\//, '').split('/');
  const key = rest.join('/');
  if (key === '' || key.includes('?versionId='))
    throw new S3Error('InvalidArgument', 'Copy Source must mention the source bucket and key.');
  if (from !== bucket) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist.', { BucketName: from });
  return key;
}
