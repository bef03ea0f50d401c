/** Verifies a request and routes it to the S3 operation. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { copyObject, putObject } from './upload.ts';
import { S3Error } from './errors.ts';
import type { Storage, StoredObject } from './storage.ts';
import { type Credentials, decodePercent, type PayloadHash, queryOf, verify } from './signature.ts';
import { document } from './xml.ts';

/** ListObjectsV2: keys by prefix, in pages. */
const MAX_KEYS = 1000;

/** The XML response to a list request. @throws S3Error if a parameter is invalid */
function listObjects(bucket: string, query: ReadonlyMap<string, string>, storage: Storage): string {
  const prefix = query.get('prefix') ?? '';
  const requested = query.get('max-keys') ?? String(MAX_KEYS);
  if (!/^[1-9]\d{0,8}$/.test(requested)) throw new S3Error('InvalidArgument', `max-keys must be a positive number, not ${requested}.`);
  const limit = Math.min(Number(requested), MAX_KEYS);
  const token = query.get('continuation-token') ?? '';
  const after = Buffer.from(token, 'base64url');
  const left = storage.list(prefix).filter(({ key }) => Buffer.compare(Buffer.from(key), after) > 0);
  const page = left.slice(0, limit);
  return document('ListBucketResult', {
    Name: bucket,
    Prefix: prefix,
    ...(token !== '' && { ContinuationToken: token }),
    MaxKeys: limit,
    KeyCount: page.length,
    IsTruncated: left.length > limit,
    ...(left.length > limit && { NextContinuationToken: Buffer.from(page.at(-1)!.key).toString('base64url') }),
    Contents: page.map(({ key, modified, md5, size }) => ({
      Key: key,
      LastModified: new Date(modified).toISOString(),
      ETag: `"${md5}"`,
      Size: size,
      StorageClass: 'STANDARD',
    })),
  });
}

/**
 * GetObject and HeadObject: the whole object or a range, with the response headers that a signed query sets. Handles GET and HEAD of an
 * object. @throws S3Error
 */
async function getObject(
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  query: [string, string][],
  storage: Storage,
): Promise<void> {
  const opened = await storage.read(key);
  if (opened === null) throw new S3Error('NoSuchKey', 'The specified key does not exist.', { Key: key });
  const { object, file } = opened;
  try {
    const headers = headersOf(object, query);
    const range = rangeOf(request.headers.range, object.size);
    const [start, end] = range ?? [0, object.size - 1];
    response.writeHead(range === null ? 200 : 206, {
      ...headers,
      'content-length': end - start + 1,
      ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${object.size}` }),
    });
    if (request.method === 'HEAD' || end < start) response.end();
    else await pipeline(file.createReadStream({ start, end, autoClose: false }), response);
  } finally {
    await file.close();
  }
}

function headersOf(object: StoredObject, query: [string, string][]): Record<string, string> {
  const headers: Record<string, string> = {
    'accept-ranges': 'bytes',
    'content-type': object.contentType,
    etag: `"${object.md5}"`,
    'last-modified': new Date(object.modified).toUTCString(),
    'x-content-type-options': 'nosniff',
    ...object.headers,
  };
  const disposition = new Map(query).get('response-content-disposition');
  if (disposition !== undefined) {
    if (/[^\t\x20-\x7e\x80-\xff]/.test(disposition)) throw new S3Error('InvalidArgument', 'The Content-Disposition cannot be represented.');
    headers['content-disposition'] = disposition;
  }
  return headers;
}

/** The first and last byte of a range such as `bytes=0-99`; null without one. @throws S3Error if the object does not contain it */
function rangeOf(header: string | undefined, size: number): [number, number] | null {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(header ?? '') ?? [];
  if (first === undefined || Number(last) < Number(first)) return null;
  if (Number(first) >= size)
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      ActualObjectSize: String(size),
      RangeRequested: header!,
    });
  return [Number(first), Math.min(Number(last), size - 1)];
}

export interface ObjectsContext {
  bucket: string;
  credentialsOf: (accessKeyId: string) => Credentials | undefined;
  storage: Storage;
  /** The maximum size of an object. */
  maxObjectBytes: number;
  now: () => Date;
}

const MAX_KEY_BYTES = 1024;
const COMMON_PARAMETERS = /^(X-Amz-|x-amz-|x-id$)/;

/** Handles one request. Never rejects. @param sendContinue asks a waiting client to send the body */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: ObjectsContext,
  sendContinue: () => void,
): Promise<void> {
  const requestId = randomBytes(8).toString('hex').toUpperCase();
  response.setHeader('x-amz-request-id', requestId);
  response.setHeader('server', 'curbcut-objects');
  try {
    const target = request.url ?? '/';
    const signed = { method: request.method ?? 'GET', target, headers: request.headers };
    const payloadHash = verify(signed, context.credentialsOf, context.now());
    const { bucket, key } = addressOf(target);
    if (bucket !== context.bucket) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist.', { BucketName: bucket });
    sendContinue();
    if (key === '') return handleBucket(request, response, context);
    await handleObject(request, response, key, payloadHash, context);
  } catch (error) {
    sendError(request, response, error, requestId);
  }
}

/** The bucket and key of a path-style address. @throws S3Error if the address is invalid */
function addressOf(target: string): { bucket: string; key: string } {
  const path = target.split('?', 1)[0]!;
  if (!path.startsWith('/')) throw new S3Error('InvalidURI', 'The request target must be a path.');
  const [bucket = '', ...rest] = path.slice(1).split('/');
  const key = decodePercent(rest.join('/'));
  if (Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw new S3Error('KeyTooLongError', 'Your key is too long', { MaxSizeAllowed: String(MAX_KEY_BYTES) });
  return { bucket: decodePercent(bucket), key };
}

async function handleObject(
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  payloadHash: PayloadHash,
  context: ObjectsContext,
): Promise<void> {
  const query = queryOf(request.url!);
  const reading = request.method === 'GET' || request.method === 'HEAD';
  rejectUnknownParameters(query, reading ? /^response-content-disposition$/ : /^$/);
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return getObject(request, response, key, query, context.storage);
    case 'PUT': {
      if (request.headers['x-amz-copy-source'] !== undefined) return copyObject(request, response, key, context);
      const object = await putObject(request, key, payloadHash, context.storage, context.maxObjectBytes, context.now);
      response.writeHead(200, { etag: `"${object.md5}"`, 'content-length': 0 }).end();
      return;
    }
    case 'DELETE':
      context.storage.remove(key);
      response.writeHead(204).end();
      return;
    default:
      throw new S3Error('MethodNotAllowed', 'The specified method is not allowed against this resource.', {
        Method: String(request.method),
      });
  }
}

function handleBucket(request: IncomingMessage, response: ServerResponse, { bucket, storage }: ObjectsContext): void {
  const query = queryOf(request.url!);
  if (request.method === 'HEAD') {
    rejectUnknownParameters(query, /^$/);
    response.writeHead(200).end();
    return;
  }
  const given = new Map(query);
  if (request.method !== 'GET' || given.get('list-type') !== '2')
    throw new S3Error('NotImplemented', 'The embedded object store supports only HeadBucket and ListObjectsV2 on a bucket.');
  rejectUnknownParameters(query, /^(list-type|prefix|max-keys|continuation-token)$/);
  sendXml(response, 200, listObjects(bucket, given, storage));
}

/** Rejects unknown parameters: if they were ignored, the result could differ from what the client asked for. */
function rejectUnknownParameters(query: [string, string][], known: RegExp): void {
  for (const [name] of query)
    if (!COMMON_PARAMETERS.test(name) && !known.test(name))
      throw new S3Error('NotImplemented', `The parameter ${name} is not supported by the embedded object store.`);
}

function sendXml(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(text) }).end(text);
}

function sendError(request: IncomingMessage, response: ServerResponse, error: unknown, requestId: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const failure =
    error instanceof S3Error ? error : new S3Error('InternalError', `We encountered an internal error: ${(error as Error).message}`);
  const body = document('Error', { Code: failure.code, Message: failure.message, ...failure.details, RequestId: requestId }, false);
  // Read the rest of the body, because a client that is still sending would not read the error.
  if (!request.complete) {
    response.setHeader('connection', 'close');
    request.resume();
  }
  if (failure.code === 'InvalidRange') response.setHeader('content-range', `bytes */${failure.details['ActualObjectSize']}`);
  if (request.method === 'HEAD') response.writeHead(failure.status).end();
  else sendXml(response, failure.status, body);
}
