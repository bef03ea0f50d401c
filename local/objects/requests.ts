/** From a request to its answer: who asks, for what, and which part of S3 that is. */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import { copyObject } from './copy.ts';
import { giveObject } from './download.ts';
import { Refusal } from './errors.ts';
import { listObjects } from './listing.ts';
import type { Shelf } from './shelf.ts';
import { decodePercent, queryOf, verify, type Credentials, type PayloadHash } from './signature.ts';
import { takeObject } from './upload.ts';
import { document, keysToDelete } from './xml.ts';

export interface ObjectsContext {
  bucket: string;
  credentials: Credentials;
  shelf: Shelf;
  /** The largest object that is taken, in bytes. */
  maxObjectBytes: number;
  now: () => Date;
}

const MAX_KEY_BYTES = 1024;
const MAX_DELETE_BYTES = 2 * 1024 * 1024;
const COMMON_PARAMETERS = /^(X-Amz-|x-amz-|x-id$)/;

/** Answers one request. Never throws. @param mayContinue tells a client that waits for it to send the body */
export async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  context: ObjectsContext,
  mayContinue: () => void,
): Promise<void> {
  const requestId = randomBytes(8).toString('hex').toUpperCase();
  response.setHeader('x-amz-request-id', requestId);
  response.setHeader('server', 'curbcut-objects');
  try {
    const target = request.url ?? '/';
    const signed = { method: request.method ?? 'GET', target, headers: request.headers };
    const payloadHash = verify(signed, context.credentials, context.now());
    const { bucket, key } = addressOf(target);
    if (bucket === '') return listBuckets(request, response, context);
    if (bucket !== context.bucket) throw new Refusal('NoSuchBucket', 'The specified bucket does not exist.', { BucketName: bucket });
    mayContinue();
    await (key === '' ? answerBucket(request, response, payloadHash, context) : answerObject(request, response, key, payloadHash, context));
  } catch (error) {
    refuse(request, response, error, requestId);
  }
}

/** Bucket and key of a path-style address. @throws Refusal where it is no such address */
function addressOf(target: string): { bucket: string; key: string } {
  const path = target.split('?', 1)[0]!;
  if (!path.startsWith('/')) throw new Refusal('InvalidURI', 'The request target must be a path.');
  const [bucket = '', ...rest] = path.slice(1).split('/');
  const key = decodePercent(rest.join('/'));
  if (Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw new Refusal('KeyTooLongError', 'Your key is too long', { MaxSizeAllowed: String(MAX_KEY_BYTES) });
  return { bucket: decodePercent(bucket), key };
}

async function answerObject(
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  payloadHash: PayloadHash,
  context: ObjectsContext,
): Promise<void> {
  const query = queryOf(request.url!);
  const reading = request.method === 'GET' || request.method === 'HEAD';
  refuseParameters(query, reading ? /^response-/ : /^$/);
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return giveObject(request, response, key, query, context.shelf);
    case 'PUT': {
      if (request.headers['x-amz-copy-source'] !== undefined) return copyObject(request, response, key, context);
      const object = await takeObject(request, key, payloadHash, context.shelf, context.maxObjectBytes, context.now);
      response.writeHead(200, { etag: `"${object.md5}"`, 'content-length': 0 }).end();
      return;
    }
    case 'DELETE':
      context.shelf.remove(key);
      response.writeHead(204).end();
      return;
    default:
      throw new Refusal('MethodNotAllowed', 'The specified method is not allowed against this resource.', {
        Method: String(request.method),
      });
  }
}

async function answerBucket(
  request: IncomingMessage,
  response: ServerResponse,
  payloadHash: PayloadHash,
  context: ObjectsContext,
): Promise<void> {
  const query = new Map(queryOf(request.url!));
  switch (request.method) {
    case 'HEAD':
      refuseParameters([...query], /^$/);
      response.writeHead(200).end();
      return;
    case 'GET':
      if (query.get('list-type') !== '2')
        throw new Refusal('NotImplemented', 'Of bucket reads, only ListObjectsV2 is supported by the embedded object store.');
      refuseParameters([...query], /^(list-type|prefix|delimiter|max-keys|continuation-token|start-after|encoding-type|fetch-owner)$/);
      return sendXml(response, 200, listObjects(context.bucket, query, context.shelf));
    case 'POST': {
      if (!query.has('delete'))
        throw new Refusal('NotImplemented', 'Of bucket posts, only DeleteObjects is supported by the embedded object store.');
      refuseParameters([...query], /^delete$/);
      const { keys, quiet } = keysToDelete(await smallBody(request, payloadHash));
      for (const key of keys) context.shelf.remove(key);
      return sendXml(response, 200, document('DeleteResult', quiet ? {} : { Deleted: keys.map((Key) => ({ Key })) }));
    }
    case 'PUT':
      throw new Refusal('BucketAlreadyOwnedByYou', 'The bucket you tried to create already exists, and you own it.', {
        BucketName: context.bucket,
      });
    default:
      throw new Refusal('MethodNotAllowed', 'The specified method is not allowed against this resource.', {
        Method: String(request.method),
      });
  }
}

function listBuckets(request: IncomingMessage, response: ServerResponse, { bucket }: ObjectsContext): void {
  if (request.method !== 'GET')
    throw new Refusal('MethodNotAllowed', 'The specified method is not allowed against this resource.', { Method: String(request.method) });
  sendXml(
    response,
    200,
    document('ListAllMyBucketsResult', { Buckets: { Bucket: [{ Name: bucket, CreationDate: new Date(0).toISOString() }] } }),
  );
}

/** A parameter that is passed over could mean something else than what was done. */
function refuseParameters(query: [string, string][], known: RegExp): void {
  for (const [name] of query)
    if (!COMMON_PARAMETERS.test(name) && !known.test(name))
      throw new Refusal('NotImplemented', `The parameter ${name} is not supported by the embedded object store.`);
}

/** A small body, read whole and held against its digests. @throws Refusal */
async function smallBody(request: IncomingMessage, payloadHash: PayloadHash): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const bytes of request) {
    size += (bytes as Buffer).length;
    if (size > MAX_DELETE_BYTES) throw new Refusal('EntityTooLarge', 'The request body is too large.');
    parts.push(bytes as Buffer);
  }
  const body = Buffer.concat(parts);
  if (payloadHash !== 'UNSIGNED-PAYLOAD' && createHash('sha256').update(body).digest('hex') !== payloadHash)
    throw new Refusal('XAmzContentSHA256Mismatch', "The provided 'x-amz-content-sha256' header does not match what was computed.");
  const [md5, crc] = [request.headers['content-md5'], request.headers['x-amz-checksum-crc32']];
  if (md5 !== undefined && createHash('md5').update(body).digest('base64') !== md5)
    throw new Refusal('BadDigest', 'The Content-MD5 you specified did not match what we received.');
  if (crc !== undefined) {
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    if (sum.toString('base64') !== crc) throw new Refusal('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
  }
  return body.toString();
}

function sendXml(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(text) }).end(text);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown, requestId: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const refusal =
    error instanceof Refusal ? error : new Refusal('InternalError', `We encountered an internal error: ${(error as Error).message}`);
  const body = document('Error', { Code: refusal.code, Message: refusal.message, ...refusal.details, RequestId: requestId }, false);
  // The rest of a body that nobody wants is read away, or the client would not get to read why.
  if (!request.complete) {
    response.setHeader('connection', 'close');
    request.resume();
  }
  if (refusal.code === 'InvalidRange') response.setHeader('content-range', `bytes */${refusal.details['ActualObjectSize']}`);
  if (request.method === 'HEAD') response.writeHead(refusal.status).end();
  else sendXml(response, refusal.status, body);
}
