/** The route that streams a scan as server-sent events. */
import { Type } from 'typebox';
import { LIVE_PHASES } from '../../core/scan/phases.ts';
import { callerOf, keyIdOf } from '../http/plugins/auth.ts';
import { annotate } from '../http/plugins/request-log.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { STREAMS_PER_KEY } from '../http/errors.ts';
import { CompleteEvent } from '../../core/scan/result.ts';
import { keyCredential } from './event-streams.ts';
import { growing, nullable, oneOf } from '../../core/schemas.ts';
import { EXAMPLES } from '../http/examples.ts';
import { emptyAnswer, KEYED, keyWith, LIMITED, reference, refusals, textAnswer } from '../http/responses.ts';
import { ScanPath } from '../scans/scans.ts';

export const ProgressEvent = Type.Object(
  {
    event: oneOf(['progress']),
    status: growing(LIVE_PHASES),
    scan_id: Type.String({ format: 'uuid' }),
    pages_scanned: Type.Integer({ minimum: 0 }),
    pages_total: Type.Integer({ minimum: 0, description: 'Pages found so far. The number may grow during the crawl.' }),
    message: nullable(Type.String({ description: 'What the scan waits for, if it is not only its turn.' })),
  },
  { $id: 'ProgressEvent' },
);

const ANY_EVENT = Type.Unsafe({ anyOf: [reference(ProgressEvent), reference(CompleteEvent)] });

const FOLLOW_SCAN = {
  operationId: 'followScan',
  tags: ['Scans'],
  summary: 'Follow a scan',
  description:
    'Sends the current state immediately, a `progress` event for each change, and one `complete` event, after which the stream ends. ' +
    'Each `data:` line is a ProgressEvent or a CompleteEvent; ignore events of other kinds. `id:` increases with every change; send it as `Last-Event-ID` to resume. ' +
    'A `: keepalive` comment is sent every 15 seconds. ' +
    'A slow client gets the newest state and misses those before it; one that takes nothing for 30 seconds is disconnected. ' +
    'With the `Last-Event-ID` of the `complete` event the answer is 204, after which an EventSource does not reconnect; close yours when it comes. ' +
    'The stream ends within seconds when its key is revoked or expires, or its organisation is blocked. ' +
    `A key can have ${STREAMS_PER_KEY} streams on each replica, an organisation a quarter of all.`,
  security: keyWith('scans:read'),
  params: ScanPath,
  querystring: Type.Object({
    lastEventId: Type.Optional(
      Type.String({ description: 'As `Last-Event-ID`, which comes first. The package `event-source-polyfill` sends it here.' }),
    ),
  }),
  headers: Type.Object({
    'Last-Event-ID': Type.Optional(Type.String({ description: 'The `id` of the last event that the client received.' })),
  }),
  response: {
    200: textAnswer('The stream. The schema is that of one event.', 'text/event-stream', LIMITED, ANY_EVENT, EXAMPLES.events),
    204: emptyAnswer('The scan has ended, and the client has received its last event.', LIMITED),
    ...refusals([...KEYED, 'scan_not_found', 'too_many_streams', 'streams_full']),
  },
};

export const scanEventRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get(
    '/v1/ci/scans/:scan_id/events',
    {
      // The response to HEAD would be a stream that never ends.
      exposeHeadRoute: false,
      config: { permission: 'scans:read' },
      schema: FOLLOW_SCAN,
    },
    async (request, reply) => {
      const scanId = request.params.scan_id.toLowerCase();
      const caller = callerOf(request);
      const organisation = caller.organisation.id;
      annotate(request, { scan: scanId });
      return scope.eventStreams.send(reply, { credential: keyCredential(keyIdOf(caller)), organisation }, scanId);
    },
  );
};
