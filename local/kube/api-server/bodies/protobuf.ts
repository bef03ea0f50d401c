/**
 * Reads the Protobuf bodies of `kubectl create configmap|secret|namespace`: these commands use typed
 * clients, which do not fall back to JSON. Other kinds are not supported in Protobuf.
 */
import type { Json, JsonObject } from '../../types.ts';

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
export function decodeProtobuf(body: Buffer): Json | null {
  if (!body.subarray(0, 4).equals(MAGIC)) throw new RangeError('the body does not start with the Kubernetes Protobuf prefix');
  const envelope = new Map(entries(body.subarray(4)));
  const type = new Map(entries(envelope.get(1) as Buffer));
  const kind = text(type.get(2));
  const message = KINDS[kind];
  if (message === undefined) return null;
  return { apiVersion: text(type.get(1)), kind, ...decode(envelope.get(2) as Buffer, message) };
}
