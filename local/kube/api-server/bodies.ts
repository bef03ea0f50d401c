/** Reads the bodies of requests. */
import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../../platform/errors.ts';
import { badRequest, StatusError, unsupportedMediaType } from '../status.ts';
import type { Json, JsonObject, Resource } from '../types.ts';

/**
 * Reads the Protobuf bodies of `kubectl create configmap|secret|namespace`: these commands use typed
 * clients, which do not fall back to JSON. Other kinds are not supported in Protobuf.
 */
const MAGIC = Buffer.from('k8s\0', 'latin1');

interface Field {
  name: string;
  /** `map:string` and `map:bytes` have string keys; an object is a message. */
  type: 'string' | 'map:string' | 'map:bytes' | Message;
}
type Message = Readonly<Record<number, Field>>;

const META: Message = {
  1: { name: 'name', type: 'string' },
  3: { name: 'namespace', type: 'string' },
  11: { name: 'labels', type: 'map:string' },
  12: { name: 'annotations', type: 'map:string' },
};
const metadata: Field = { name: 'metadata', type: META };

const KINDS: Readonly<Record<string, Message>> = {
  ConfigMap: {
    1: metadata,
    2: { name: 'data', type: 'map:string' },
    3: { name: 'binaryData', type: 'map:bytes' },
  },
  Secret: {
    1: metadata,
    2: { name: 'data', type: 'map:bytes' },
    3: { name: 'type', type: 'string' },
    4: { name: 'stringData', type: 'map:string' },
  },
  Namespace: { 1: metadata },
};

/** The fields of a message: numbers and raw values. @throws RangeError if it is truncated */
function* entries(bytes: Buffer): Generator<[number, Buffer | bigint]> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire === 0) yield [tag >> 3, varint()];
    else if (wire === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) throw new RangeError('the Protobuf message is truncated');
      yield [tag >> 3, bytes.subarray(at, at + length)];
      at += length;
    } else throw new RangeError(`the Protobuf message has a field of wire type ${wire}`);
  }
}

const text = (value: Buffer | bigint | undefined): string => (Buffer.isBuffer(value) ? value.toString('utf8') : '');

function decode(bytes: Buffer, message: Message): JsonObject {
  const result: JsonObject = {};
  for (const [number, value] of entries(bytes)) {
    const field = message[number];
    if (field === undefined) continue;
    const { name, type } = field;
    if (type === 'map:string' || type === 'map:bytes') {
      const pair = new Map(entries(value as Buffer));
      const item = pair.get(2);
      const decoded = type === 'map:string' ? text(item) : Buffer.isBuffer(item) ? item.toString('base64') : '';
      result[name] = { ...(result[name] as JsonObject | undefined), [text(pair.get(1))]: decoded };
    } else {
      const single: Json = type === 'string' ? text(value) : decode(value as Buffer, type);
      // The encoder writes empty strings for unset fields.
      if (single !== '') result[name] = single;
    }
  }
  return result;
}

/** The object in a body; null if its kind is not supported. @throws RangeError if the message is invalid */
function decodeProtobuf(body: Buffer): Json | null {
  if (!body.subarray(0, 4).equals(MAGIC)) throw new RangeError('the body does not start with the Kubernetes Protobuf prefix');
  const envelope = new Map(entries(body.subarray(4)));
  const type = new Map(entries(envelope.get(1) as Buffer));
  const kind = text(type.get(2));
  const message = KINDS[kind];
  if (message === undefined) return null;
  return { apiVersion: text(type.get(1)), kind, ...decode(envelope.get(2) as Buffer, message) };
}

/** The supported patches: JSON Merge Patch and, for built-in kinds, strategic merge. */
const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7386. */
export function mergePatch(target: Json | undefined, patch: Json | undefined): Json | undefined {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/**
 * Strategic merge, which `kubectl apply` sends for built-in kinds: as a merge patch, without lists. To merge them, the server
 * would have to know their keys. @throws StatusError 422 for a list of objects or a directive
 */
export function strategicPatch(target: Json, patch: Json): Json | undefined {
  if (hasLists(patch)) throw new StatusError(422, 'Invalid', 'the embedded Kubernetes does not merge lists: use a merge patch', {});
  return mergePatch(target, patch);
}

const hasLists = (patch: Json | undefined): boolean =>
  Array.isArray(patch) || (isObject(patch) && Object.entries(patch).some(([key, value]) => key.startsWith('$') || hasLists(value)));

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
