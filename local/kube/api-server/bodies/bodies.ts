/** Reads the bodies of requests. */
import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../../../platform/errors.ts';
import { badRequest, StatusError, unsupportedMediaType } from '../../status.ts';
import type { Json, Resource } from '../../types.ts';
import { decodeProtobuf } from './protobuf.ts';

const MAX_BODY_BYTES = 3 * 1024 * 1024;

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A body as text. @throws StatusError 413 */
export const readBody = async (request: IncomingMessage): Promise<string> => (await readBytes(request)).toString('utf8');

export const mediaType = (request: IncomingMessage): string => (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';

/** A body in JSON or Protobuf as an object. @throws StatusError 400, 413, 415 */
export async function readObject(request: IncomingMessage, resource: Resource): Promise<Json> {
  const type = mediaType(request);
  const bytes = await readBytes(request);
  const unsupported = unsupportedMediaType(['application/json', 'application/vnd.kubernetes.protobuf']);
  if (type === 'application/vnd.kubernetes.protobuf') {
    const object = decodeProtobuf(bytes);
    if (object === null) throw unsupported;
    return object;
  }
  if (!['', 'application/json'].includes(type)) throw unsupported;
  try {
    return JSON.parse(bytes.toString('utf8')) as Json;
  } catch (error) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error: ${errorMessage(error)}`,
    );
  }
}
