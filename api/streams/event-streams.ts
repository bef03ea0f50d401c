/** Sends event streams of scans, for the API and for the dashboard. Both share the followers and the limits of a replica. */
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Logger } from '../../platform/logger.ts';
import type { MessageBus } from '../../stores/nats.ts';
import { rowsOf, type Scans } from '../../stores/scans/scans.ts';
import { ApiError, type STREAM_LIMITS, STREAMS_PER_KEY } from '../http/errors.ts';
import type { Metrics } from '../metrics.ts';
import { createFollowers, createScanStream, lastEventIdOf, type ScanStream, type StreamTimings } from './scan-stream.ts';

export interface EventStreamDeps {
  scans: Pick<Scans, 'findMany'>;
  usable: CredentialCheck;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  metrics: Pick<Metrics, 'stream' | 'slowStream'>;
  logger: Logger;
  timings: StreamTimings;
  /** The maximum number of open streams. */
  maxStreams: number;
}

export function createEventStreams({ scans, usable, bus, metrics, logger, timings, maxStreams }: EventStreamDeps) {
  const followers = createFollowers({ read: (ids) => rowsOf(scans, ids), bus, timings });
  const { stream: onChange, slowStream: onSlow } = metrics;
  const streams = createOpenStreams({ ...timings, usable, max: maxStreams, logger, onChange, onSlow });
  return {
    /**
     * Answers a request with the event stream of a scan; with 204, which ends an EventSource, if the client has seen its end.
     * @throws ApiError if the organisation has no such scan, or if there are too many streams
     */
    async send(reply: FastifyReply, owner: StreamOwner, scanId: string): Promise<FastifyReply> {
      const { raw } = reply;
      const { headers, query } = reply.request as FastifyRequest<{ Querystring: { lastEventId?: unknown } }>;
      const lastEventId = lastEventIdOf(headers['last-event-id'] ?? query.lastEventId);
      const stream = createScanStream({ followers, organisation: owner.organisation, scanId, lastEventId, output: raw });
      const place = streams.open(owner, stream);
      if (!place.ok) throw tooManyStreams(place.reason);
      // At the end of the response, also of an error, and as soon as the client disconnects.
      raw.once('close', place.close);
      if (raw.destroyed) place.close();
      const row = await stream.read();
      if (row === null) throw new ApiError('scan_not_found');
      if (isTerminal(row.phase) && lastEventId !== null && lastEventId >= row.version) return reply.code(204).send();
      // nginx buffers responses without the first header. An ended stream leaves no connection that keeps a closing replica.
      reply.headers({ 'X-Accel-Buffering': 'no', 'Cache-Control': 'no-store, no-transform', Connection: 'close' });
      reply.type('text/event-stream; charset=utf-8');
      // `reply.send` of a Readable holds 12 KB more for each stream.
      reply.hijack();
      if (!raw.destroyed) raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
      stream.start();
      return reply;
    },
    /** Ends every stream, and every stream that is opened later. */
    end: () => streams.end(),
  };
}
export type EventStreams = ReturnType<typeof createEventStreams>;

const TOO_MANY: Readonly<Record<Exclude<StreamLimit, 'replica'>, string>> = {
  key: `This key has ${STREAMS_PER_KEY} open event streams, which is the limit; close one, or poll the scan.`,
  organisation: 'The organisation has as many open event streams as it may have on this replica; close one, or poll the scan.',
};

function tooManyStreams(limit: StreamLimit): ApiError {
  if (limit === 'replica') return new ApiError('streams_full', { fields: { limit } });
  return new ApiError('too_many_streams', { fields: { message: TOO_MANY[limit], limit } });
}

const KEY = 'key:';
const SESSION = 'session:';

/** The name of an API key among the credentials of streams. */
export const keyCredential = (keyId: string): string => KEY + keyId;

/** The name of a dashboard session among the credentials of streams. */
export const sessionCredential = (sessionId: string): string => SESSION + sessionId;

type Check = (ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** Checks keys and sessions with one call each. A kind without a check is never usable. */
export function credentialCheck(checks: { keys: Check; sessions?: Check }): CredentialCheck {
  const kinds = [
    { prefix: KEY, check: checks.keys },
    ...(checks.sessions === undefined ? [] : [{ prefix: SESSION, check: checks.sessions }]),
  ];
  return async (credentials) => {
    const usable = kinds.map(async ({ prefix, check }) => {
      const ids = credentials.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
      return ids.length === 0 ? [] : Array.from(await check(ids), (id) => prefix + id);
    });
    return new Set((await Promise.all(usable)).flat());
  };
}

/*
 * The event streams that are open on this replica: how many there may be, and when they must end. A stream belongs to a
 * credential: an API key or a dashboard session. It ends within seconds when its credential ends or its organisation is
 * blocked, and at once when the replica closes.
 */

/** One organisation can have this share of a replica's streams, so that it cannot take the places of all others. */
const ORGANISATION_SHARE = 1 / 4;
/** How long an ended stream may take to send its last bytes, in milliseconds. A client that does not read is disconnected then. */
const ENDING_MS = 1_000;

export type Place =
  /** `close` ends the stream and frees the place; it may be called more than once. */
  { ok: true; close(): void } | { ok: false; reason: StreamLimit };

/** Who opens a stream. */
interface StreamOwner {
  /** The name of the credential: see `CredentialCheck`. */
  credential: string;
  organisation: string;
}

/** Returns those of the named credentials that may still be used. */
type CredentialCheck = (credentials: readonly string[]) => Promise<ReadonlySet<string>>;

/** Whose streams have reached their limit. */
type StreamLimit = (typeof STREAM_LIMITS)[number];

export interface OpenStreamsDeps extends Pick<StreamTimings, 'checkMs' | 'keepaliveMs'> {
  usable: CredentialCheck;
  /** The maximum number of streams. */
  max: number;
  logger: Logger;
  /** Called when a stream was opened (+1) or closed (−1). */
  onChange(change: 1 | -1): void;
  /** Called when a stream is disconnected because its client does not read. */
  onSlow(): void;
}

type Stream = Pick<ScanStream, 'keepAlive' | 'end' | 'disconnect'>;

export function createOpenStreams({ usable, max, checkMs, keepaliveMs, logger, onChange, onSlow }: OpenStreamsDeps) {
  const streams = new Map<Stream, StreamOwner>();
  const perOrganisation = Math.max(STREAMS_PER_KEY, Math.ceil(max * ORGANISATION_SHARE));
  let closing = false;
  let checks: NodeJS.Timeout | undefined;
  let keepalives: NodeJS.Timeout | undefined;

  function end(ending: readonly Stream[]): void {
    for (const stream of ending) stream.end();
    const disconnect = (): void => {
      for (const stream of ending) if (streams.has(stream)) stream.disconnect();
    };
    setTimeout(disconnect, ENDING_MS).unref();
  }

  async function check(): Promise<void> {
    try {
      const checked = new Set(Array.from(streams.values(), ({ credential }) => credential));
      const live = await usable([...checked]);
      const refused = [...streams].filter(([, { credential }]) => checked.has(credential) && !live.has(credential));
      if (refused.length > 0) end(refused.map(([stream]) => stream));
    } catch (error) {
      // While the database is down the streams send nothing new. The next check repeats it.
      logger.warn({ err: error }, 'credentials of event streams not checked');
    } finally {
      schedule();
    }
  }

  function schedule(): void {
    clearTimeout(checks);
    checks = streams.size === 0 ? undefined : setTimeout(() => void check(), checkMs).unref();
  }

  function keepAlive(): void {
    for (const stream of streams.keys()) {
      if (stream.keepAlive()) continue;
      onSlow();
      stream.disconnect();
    }
  }

  /** The limit that one more stream would exceed; null if there is room. */
  function limitFor({ credential, organisation }: StreamOwner): StreamLimit | null {
    let ofCredential = 0;
    let ofOrganisation = 0;
    for (const owner of streams.values()) {
      if (owner.credential === credential) ofCredential += 1;
      if (owner.organisation === organisation) ofOrganisation += 1;
    }
    if (ofCredential >= STREAMS_PER_KEY) return 'key';
    if (ofOrganisation >= perOrganisation) return 'organisation';
    return streams.size >= max ? 'replica' : null;
  }

  return {
    /** Takes a place for a stream of a credential and its organisation. */
    open(owner: StreamOwner, stream: Stream): Place {
      const reason = limitFor(owner);
      if (reason !== null) return { ok: false, reason };
      streams.set(stream, owner);
      onChange(1);
      if (streams.size === 1) {
        schedule();
        keepalives = setInterval(keepAlive, keepaliveMs).unref();
      }
      if (closing) end([stream]);
      return {
        ok: true,
        close() {
          stream.end();
          if (!streams.delete(stream)) return;
          onChange(-1);
          if (streams.size > 0) return;
          schedule();
          clearInterval(keepalives);
        },
      };
    },

    /** Ends every stream, and every stream that is opened later. */
    end() {
      closing = true;
      end([...streams.keys()]);
    },
  };
}
