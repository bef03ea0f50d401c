/** Sends event streams of scans, for the API and for the dashboard. Both share the followers and the limits of a replica. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Logger } from '../../platform/logger.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { ApiError, type STREAM_LIMITS, STREAMS_PER_KEY } from '../http/errors.ts';
import type { Metrics } from '../metrics.ts';
import { createFollowers, lastEventIdOf, openStream, type StreamTimings } from './scan-stream.ts';

export interface EventStreamDeps {
  scans: Pick<Scans, 'find'>;
  usable: CredentialCheck;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  metrics: Pick<Metrics, 'stream'>;
  logger: Logger;
  timings: StreamTimings;
  /** The maximum number of open streams. */
  maxStreams: number;
}

export function createEventStreams({ scans, usable, bus, metrics, logger, timings, maxStreams }: EventStreamDeps) {
  const followers = createFollowers({ read: (id, organisation): Promise<ScanRow | null> => scans.find(id, organisation), bus, timings });
  const streams = createOpenStreams({ usable, max: maxStreams, checkMs: timings.checkMs, logger, onChange: metrics.stream });
  return {
    /**
     * Answers a request with the event stream of a scan; with 204, which ends an EventSource, if the client has seen its end.
     * @throws ApiError if the organisation has no such scan, or if there are too many streams
     */
    async send(reply: FastifyReply, owner: StreamOwner, scanId: string): Promise<FastifyReply> {
      const place = streams.open(owner, () => reply.raw.destroy());
      if (!place.ok) throw tooManyStreams(place.reason);
      // At the end of the response, also of an error, and as soon as the client disconnects.
      reply.raw.once('close', place.close);
      if (reply.raw.destroyed) place.close();
      const { headers, query } = reply.request as FastifyRequest<{ Querystring: { lastEventId?: unknown } }>;
      const lastEventId = lastEventIdOf(headers['last-event-id'] ?? query.lastEventId);
      const stream = await openStream({
        followers,
        organisation: owner.organisation,
        scanId,
        lastEventId,
        keepaliveMs: timings.keepaliveMs,
        signal: place.signal,
      });
      if (stream.row === null) {
        stream.close();
        throw new ApiError('scan_not_found');
      }
      if (isTerminal(stream.row.phase) && lastEventId !== null && lastEventId >= stream.row.version) {
        stream.close();
        return reply.code(204).send();
      }
      // One byte: text that waits in a buffer would be outdated when a slow client reads it.
      const text = Readable.from(stream.text(), { objectMode: false, highWaterMark: 1 });
      // A text that is never read does not end by itself.
      text.once('close', stream.close);
      // nginx buffers responses without this header.
      reply.header('X-Accel-Buffering', 'no').header('Cache-Control', 'no-store, no-transform');
      return reply.type('text/event-stream; charset=utf-8').send(text);
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
  /** `signal` aborts when the stream must end. `close` frees the place; it may be called more than once. */
  { ok: true; signal: AbortSignal; close(): void } | { ok: false; reason: StreamLimit };

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

export interface OpenStreamsDeps {
  usable: CredentialCheck;
  /** The maximum number of streams. */
  max: number;
  /** The interval between two checks of all credentials, in milliseconds. */
  checkMs: number;
  logger: Logger;
  /** Called when a stream was opened (+1) or closed (−1). */
  onChange(change: 1 | -1): void;
}

interface Stream extends StreamOwner {
  ending: AbortController;
  disconnect(): void;
  timer?: NodeJS.Timeout;
}

export function createOpenStreams({ usable, max, checkMs, logger, onChange }: OpenStreamsDeps) {
  const streams = new Set<Stream>();
  const perOrganisation = Math.max(STREAMS_PER_KEY, Math.ceil(max * ORGANISATION_SHARE));
  let closing = false;
  let timer: NodeJS.Timeout | undefined;

  function end(stream: Stream): void {
    if (stream.ending.signal.aborted) return;
    stream.ending.abort();
    stream.timer = setTimeout(stream.disconnect, ENDING_MS).unref();
  }

  async function check(): Promise<void> {
    try {
      const checked = new Set(Array.from(streams, ({ credential }) => credential));
      const live = await usable([...checked]);
      for (const stream of streams) if (checked.has(stream.credential) && !live.has(stream.credential)) end(stream);
    } catch (error) {
      // While the database is down the streams send nothing new. The next check repeats it.
      logger.warn({ err: error }, 'credentials of event streams not checked');
    } finally {
      schedule();
    }
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = streams.size === 0 ? undefined : setTimeout(() => void check(), checkMs).unref();
  }

  /** The limit that one more stream would exceed; null if there is room. */
  function limitFor({ credential, organisation }: StreamOwner): StreamLimit | null {
    let ofCredential = 0;
    let ofOrganisation = 0;
    for (const stream of streams) {
      if (stream.credential === credential) ofCredential += 1;
      if (stream.organisation === organisation) ofOrganisation += 1;
    }
    if (ofCredential >= STREAMS_PER_KEY) return 'key';
    if (ofOrganisation >= perOrganisation) return 'organisation';
    return streams.size >= max ? 'replica' : null;
  }

  return {
    /**
     * Takes a place for a stream of a credential and its organisation.
     * @param disconnect closes the connection of the stream
     */
    open(owner: StreamOwner, disconnect: () => void): Place {
      const reason = limitFor(owner);
      if (reason !== null) return { ok: false, reason };
      const stream: Stream = { ...owner, ending: new AbortController(), disconnect };
      streams.add(stream);
      onChange(1);
      if (streams.size === 1) schedule();
      if (closing) end(stream);
      return {
        ok: true,
        signal: stream.ending.signal,
        close() {
          stream.ending.abort();
          clearTimeout(stream.timer);
          if (!streams.delete(stream)) return;
          onChange(-1);
          if (streams.size === 0) schedule();
        },
      };
    },

    /** Ends every stream, and every stream that is opened later. */
    end() {
      closing = true;
      for (const stream of streams) end(stream);
    },
  };
}
