/** Sends event streams of scans, for the API and for the dashboard. Both share the followers and the limits of a replica. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { ApiError, STREAMS_PER_KEY } from '../http/errors.ts';
import type { Metrics } from '../metrics.ts';
import { createOpenStreams, type CredentialCheck, type StreamLimit, type StreamOwner } from './open-streams.ts';
import { createFollowers } from './scan-followers.ts';
import { lastEventIdOf, openStream, type StreamTimings } from './scan-stream.ts';

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
     * Answers a request with the event stream of a scan.
     * @throws ApiError if the organisation has no such scan, or if there are too many streams
     */
    async send(reply: FastifyReply, owner: StreamOwner, scanId: string): Promise<FastifyReply> {
      const place = streams.open(owner, () => reply.raw.destroy());
      if (!place.ok) throw tooManyStreams(place.reason);
      // At the end of the response, also of an error, and as soon as the client disconnects.
      reply.raw.once('close', place.close);
      if (reply.raw.destroyed) place.close();
      const stream = await openStream({
        followers,
        organisation: owner.organisation,
        scanId,
        lastEventId: lastEventIdOf(reply.request.headers['last-event-id']),
        keepaliveMs: timings.keepaliveMs,
        signal: place.signal,
      });
      if (stream.row === null) {
        stream.close();
        throw new ApiError('scan_not_found');
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
