/** Verifies a request and routes it to the S3 operation. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { copyObject } from './copy.ts';
import { getObject } from './download.ts';
import { S3Error } from './errors.ts';
import { listObjects } from './listing.ts';
import type { Storage } from './storage.ts';
import { decodePercent, queryOf, verify, type Credentials, type PayloadHash } from './signature.ts';
import { putObject } from './upload.ts';
import { document } from './xml.ts';

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
