/** The route that streams a scan as server-sent events. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { LIVE_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { Scans } from '../../stores/scans/scans.ts';
import { callerOf } from '../plugins/auth.ts';
import { annotate } from '../plugins/request-log.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ApiError } from '../errors.ts';
import { lastEventIdOf, openStream, type StreamTimings } from '../scan-stream.ts';
import type { Metrics } from '../metrics.ts';
import { nullable, oneOf } from '../../core/schemas.ts';
import { KEYED, LIMITED, refusals, textAnswer } from '../responses.ts';
import { ScanPath } from './scans.ts';

export const ProgressEvent = Type.Object(
  {
    event: oneOf(['progress']),
    status: oneOf(LIVE_PHASES),
    scan_id: Type.String({ format: 'uuid' }),
    pages_scanned: Type.Integer({ minimum: 0 }),
    pages_total: Type.Integer({ minimum: 0, description: 'Pages found so far. The number may grow during the crawl.' }),
  },
  { $id: 'ProgressEvent', additionalProperties: false },
);

const count = nullable(Type.Integer({ minimum: 0 }));

export const CompleteEvent = Type.Object(
  {
    event: oneOf(['complete']),
    scan_id: Type.String({ format: 'uuid' }),
    status: oneOf(TERMINAL_PHASES),
    score: nullable(Type.Number({ minimum: 0, maximum: 100 })),
    violations_count: count,
    violations_critical: count,
    violations_serious: count,
    violations_moderate: count,
    violations_minor: count,
    passed: nullable(Type.Boolean()),
    message: nullable(Type.String()),
  },
  { $id: 'CompleteEvent', additionalProperties: false },
);

const FOLLOW_SCAN = {
  operationId: 'followScan',
  tags: ['Scans'],
  summary: 'Follow a scan',
  description:
    'Sends the current state immediately, a `progress` event for each change, and one `complete` event, after which the stream ends. ' +
    'Each `data:` line is a ProgressEvent or a CompleteEvent. `id:` increases with every change; send it as `Last-Event-ID` to resume. ' +
    'A `: keepalive` comment is sent every 15 seconds.',
  security: [{ apiKey: [] }],
  params: ScanPath,
  headers: Type.Object({
    'Last-Event-ID': Type.Optional(Type.String({ description: 'The `id` of the last event that the client received.' })),
  }),
  response: {
    200: textAnswer('The stream.', 'text/event-stream', LIMITED),
    ...refusals([...KEYED, 'scan_not_found'], { limited: true, validated: true }),
  },
};

export interface ScanEventRouteDeps {
  scans: Pick<Scans, 'find'>;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  metrics: Metrics;
  timings: StreamTimings;
}

export const scanEventRoutes: FastifyPluginAsyncTypebox<ScanEventRouteDeps> = async (scope, deps) => {
  const open = new Set<AbortController>();
  // Streams end before the server stops listening, so that clients reconnect to another replica with Last-Event-ID.
  scope.addHook('preClose', async () => {
    for (const stream of open) stream.abort();
  });

  scope.get(
    '/v1/ci/scans/:scan_id/events',
    {
      // The response to HEAD would be a stream that never ends.
      exposeHeadRoute: false,
      schema: FOLLOW_SCAN,
    },
    async (request, reply) => {
      const scanId = request.params.scan_id.toLowerCase();
      const organisation = callerOf(request).organisation.id;
      annotate(request, { scan: scanId });
      const ending = new AbortController();
      const stream = await openStream({
        read: () => deps.scans.find(scanId, organisation),
        bus: deps.bus,
        organisation,
        scanId,
        lastEventId: lastEventIdOf(request.headers['last-event-id']),
        timings: deps.timings,
        signal: ending.signal,
      });
      if (stream.row === null) {
        stream.close();
        throw new ApiError('scan_not_found');
      }
      open.add(ending);
      deps.metrics.stream(1);
      const text = Readable.from(stream.text(), { objectMode: false, highWaterMark: 16 * 1024 });
      text.once('close', () => {
        ending.abort();
        stream.close();
        open.delete(ending);
        deps.metrics.stream(-1);
      });
      // nginx buffers responses without this header.
      reply.header('X-Accel-Buffering', 'no').header('Cache-Control', 'no-store, no-transform');
      return (reply as FastifyReply).type('text/event-stream; charset=utf-8').send(text);
    },
  );
};
