/**
 * What the pods of one scan say to each other over the message bus. Pod 0 has the frontier and makes the report. It asks the others,
 * its helpers, to visit pages. A message may be larger than the bus allows, so it is compressed and sent in parts.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import type { NatsConnection } from '@nats-io/transport-node';
import { TEAM_MESSAGE_MAX_BYTES } from '../../core/protocol/pod-messages.ts';
import type { SiteRules } from '../crawl/site.ts';
import type { KnownPictures } from '../page/visit/pictures.ts';
import type { Visit, VisitRequest } from '../page/visit/visit.ts';

/** A visit that a helper makes. What it asks back in one pod, such as where the page may go to, it knows here. */
export type RemoteRequest = Pick<VisitRequest, 'url' | 'test' | 'plan' | 'budgetMs' | 'largeBudgetMs'> & {
  testsStates: boolean;
  /** Null: the scan takes no pictures. */
  pictures: KnownPictures | null;
};

export type ToHelper =
  /** Pod 0 is there. */
  | { kind: 'hello' }
  | { kind: 'rules'; rules: SiteRules }
  | { kind: 'visit'; id: number; slot: number; request: RemoteRequest }
  | { kind: 'end' };

export type FromHelper =
  /**
   * It is there, and can visit so many pages at a time. Repeated, so that its end is noticed. `since`, in milliseconds since the epoch,
   * changes when it may have missed messages: it is a new pod, or was disconnected.
   */
  | { kind: 'ready'; workers: number; since: number }
  | { kind: 'waiting'; id: number; waits: 'site' | 'rest' | null }
  /** `visit` null: it failed for a reason that says nothing about the page. */
  | { kind: 'visited'; id: number; visit: Visit | null };

/** Without its first byte. */
const PART_BYTES = TEAM_MESSAGE_MAX_BYTES - 1;
/** The most bytes of a message, compressed and not. Its pod opens hostile pages. */
const MESSAGE_BYTES = 32 * 1024 * 1024;
const TEXT_BYTES = 64 * 1024 * 1024;

/** The values of visits that JSON does not have. */
function tagged(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const raw = this[key];
  if (raw instanceof URL) return { '@url': raw.href };
  if (raw instanceof Map) return { '@map': [...raw] };
  if (raw instanceof Set) return { '@set': [...raw] };
  if (raw instanceof Uint8Array) return { '@bytes': Buffer.from(raw).toString('base64') };
  return value;
}

function untagged(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('@url' in value) return new URL(String(value['@url']));
  if ('@map' in value) return new Map(value['@map'] as [unknown, unknown][]);
  if ('@set' in value) return new Set(value['@set'] as unknown[]);
  if ('@bytes' in value) return new Uint8Array(Buffer.from(String(value['@bytes']), 'base64'));
  return value;
}

/** @throws RangeError if the message is too large for `createJoiner` */
export function encode(message: unknown): Buffer {
  const encoded = gzipSync(JSON.stringify(message, tagged), { level: 1 });
  if (encoded.byteLength > MESSAGE_BYTES) throw new RangeError(`a message of ${encoded.byteLength} bytes is too large for other pods`);
  return encoded;
}
/** @throws Error if the text is too large, or malformed */
export const decode = (bytes: Uint8Array): unknown =>
  JSON.parse(gunzipSync(bytes, { maxOutputLength: TEXT_BYTES }).toString('utf8'), untagged);

/** The parts of a message. The first byte of each says whether another one follows. */
export function partsOf(message: Uint8Array): Uint8Array[] {
  const parts = Array.from({ length: Math.ceil(message.byteLength / PART_BYTES) }, (_, at) =>
    message.subarray(at * PART_BYTES, (at + 1) * PART_BYTES),
  );
  return parts.map((part, at) => Buffer.concat([Uint8Array.of(at === parts.length - 1 ? 0 : 1), part]));
}

/** Joins the parts of the messages of one sender, which arrive in order. @returns a function that returns a whole message, or null */
export function createJoiner(): (part: Uint8Array) => Uint8Array | null {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  return (part) => {
    parts.push(part.subarray(1));
    bytes += part.byteLength;
    const isWhole = part[0] === 0;
    const whole = isWhole && bytes <= MESSAGE_BYTES ? Buffer.concat(parts) : null;
    if (isWhole) [parts, bytes] = [[], 0];
    else if (bytes > MESSAGE_BYTES) parts = [];
    return whole;
  };
}

/** Calls back after each new connection: messages of the one before may be lost. Ends with the last connection. */
export async function onReconnect(connection: NatsConnection, call: () => void): Promise<void> {
  for await (const { type } of connection.status()) if (type === 'reconnect') call();
}
