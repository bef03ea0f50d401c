/** The route that streams a scan as server-sent events. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { LIVE_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { Keys } from '../../stores/accounts/keys.ts';
import type { Scans } from '../../stores/scans/scans.ts';
import type { Logger } from '../../platform/logger.ts';
import { callerOf, keyIdOf } from '../plugins/auth.ts';
import { annotate } from '../plugins/request-log.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ApiError, STREAMS_PER_KEY } from '../errors.ts';
import { lastEventIdOf, openStream, type StreamTimings } from '../scan-stream.ts';
import type { Metrics } from '../metrics.ts';
import { createOpenStreams, type StreamLimit } from '../open-streams.ts';
import { createFollowers } from '../scan-followers.ts';
import { nullable, oneOf } from '../../core/schemas.ts';
import { EXAMPLES } from '../examples.ts';
import { growing, KEYED, LIMITED, reference, refusals, textAnswer } from '../responses.ts';
import { ScanPath } from './scans.ts';

export const ProgressEvent = Type.Object(
  {
    event: oneOf(['progress']),
    status: growing(LIVE_PHASES),
    scan_id: Type.String({ format: 'uuid' }),
    pages_scanned: Type.Integer({ minimum: 0 }),
    pages_total: Type.Integer({ minimum: 0, description: 'Pages found so far. The number may grow during the crawl.' }),
  },
  { $id: 'ProgressEvent' },
);

const count = nullable(Type.Integer({ minimum: 0 }));

export const CompleteEvent = Type.Object(
  {
    event: oneOf(['complete']),
    scan_id: Type.String({ format: 'uuid' }),
    status: growing(TERMINAL_PHASES),
    score: nullable(Type.Number({ minimum: 0, maximum: 100 })),
    violations_count: count,
    violations_critical: count,
    violations_serious: count,
    violations_moderate: count,
    violations_minor: count,
    passed: nullable(Type.Boolean()),
    message: nullable(Type.String()),
  },
  { $id: 'CompleteEvent' },
);

const ANY_EVENT = Type.Unsafe({ anyOf: [reference(ProgressEvent), reference(CompleteEvent)] });

const FOLLOW_SCAN = {
  operationId: 'followScan',
  tags: ['Scans'],
  summary: 'Follow a scan',
  description:
    'Sends the current state immediately, a `progress` event for each change, and one `complete` event, after which the stream ends. ' +
    'Each `data:` line is a ProgressEvent or a CompleteEvent; ignore events of other kinds. `id:` increases with every change; send it as `Last-Event-ID` to resume. ' +
    'A `: keepalive` comment is sent every 15 seconds. A slow client gets the newest state and misses those before it. ' +
    'The stream ends within seconds when its key is revoked or expires, or its organisation is blocked. ' +
    `A key can have ${STREAMS_PER_KEY} streams on each replica, an organisation a quarter of all.`,
  security: [{ apiKey: [] }],
  params: ScanPath,
  headers: Type.Object({
    'Last-Event-ID': Type.Optional(Type.String({ description: 'The `id` of the last event that the client received.' })),
  }),
  response: {
    200: textAnswer('The stream. The schema is that of one event.', 'text/event-stream', LIMITED, ANY_EVENT, EXAMPLES.events),
    ...refusals([...KEYED, 'scan_not_found', 'too_many_streams', 'streams_full'], { limited: true, validated: true }),
  },
};

const TOO_MANY: Readonly<Record<Exclude<StreamLimit, 'replica'>, string>> = {
  key: `This key has ${STREAMS_PER_KEY} open event streams, which is the limit; close one, or poll the scan.`,
  organisation: 'The organisation has as many open event streams as it may have on this replica; close one, or poll the scan.',
};

function tooManyStreams(limit: StreamLimit): ApiError {
  if (limit === 'replica') return new ApiError('streams_full', { fields: { limit } });
  return new ApiError('too_many_streams', { fields: { message: TOO_MANY[limit], limit } });
}

export interface ScanEventRouteDeps {
  scans: Pick<Scans, 'find'>;
  keys: Pick<Keys, 'usable'>;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  metrics: Metrics;
  logger: Logger;
  timings: StreamTimings;
  /** The maximum number of open streams. */
  maxStreams: number;
}

export const scanEventRoutes: FastifyPluginAsyncTypebox<ScanEventRouteDeps> = async (scope, deps) => {
  const { scans, keys, bus, metrics, logger, timings } = deps;
  const followers = createFollowers({ read: scans.find, bus, timings });
  const streams = createOpenStreams({ keys, max: deps.maxStreams, checkMs: timings.checkMs, logger, onChange: metrics.stream });
  // Streams end before the server stops listening, so that clients reconnect to another replica with Last-Event-ID.
  scope.addHook('preClose', async () => streams.end());

  scope.get(
    '/v1/ci/scans/:scan_id/events',
    {
      // The response to HEAD would be a stream that never ends.
      exposeHeadRoute: false,
      schema: FOLLOW_SCAN,
    },
    async (request, reply) => {
      const scanId = request.params.scan_id.toLowerCase();
      const caller = callerOf(request);
      const organisation = caller.organisation.id;
      annotate(request, { scan: scanId });
      const place = streams.open({ keyId: keyIdOf(caller), organisation }, () => reply.raw.destroy());
      if (!place.ok) throw tooManyStreams(place.reason);
      // At the end of the response, also of an error, and as soon as the client disconnects.
      reply.raw.once('close', place.close);
      if (reply.raw.destroyed) place.close();
      const stream = await openStream({
        followers,
        organisation,
        scanId,
        lastEventId: lastEventIdOf(request.headers['last-event-id']),
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
      return (reply as FastifyReply).type('text/event-stream; charset=utf-8').send(text);
    },
  );
};
