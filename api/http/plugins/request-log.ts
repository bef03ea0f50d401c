/** Gives every request an ID, one log line and its duration in the metrics, and those of the versioned API a span. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { REQUEST_ID } from '../../../core/protocol/custom-resources.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Span } from '../../../platform/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address, read while it is known; empty if the client was gone before. `request.ip` is undefined from then on. */
    address: string;
    /** Additional fields of the request's log line. Null if Fastify rejected the request before any hook ran. */
    logFields: Record<string, unknown> | null;
    /** Null if the route is not traced. */
    span: Span | null;
  }
}

/** The caller's X-Request-Id if it is a safe token, else a new one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Adds fields to the request's log line. They must not contain secrets. */
export function annotate(request: Pick<FastifyRequest, 'logFields'>, fields: Record<string, unknown>): void {
  if (request.logFields) Object.assign(request.logFields, fields);
}

/** The status of a request whose client went away before it got the answer, as nginx counts it. It is no error of the service. */
const CLIENT_GONE = 499;

/** The status that a request ended with. An answer that had begun, or that the client's request had caused, keeps its own. */
function statusOf({ raw, statusCode }: FastifyReply): number {
  return raw.writableFinished || (raw.headersSent && statusCode < 500) ? statusCode : CLIENT_GONE;
}

/** Writes the log line. It contains only route patterns and IDs, because a path or a header may contain a secret by mistake. */
export function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const status = statusOf(reply);
  const fields = {
    request: request.id,
    method: request.method,
    route: request.routeOptions.url ?? null,
    status,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    ...(!reply.raw.writableFinished && { aborted: true }),
    ...request.logFields,
  };
  if (status >= 500) logger.error(fields, 'request failed');
  else logger.info(fields, 'request');
}

/** Probes and documents are not traced. */
const TRACED = /^\/v\d+\//;

/** Starts a span, within the caller's trace if there is a `traceparent` header. */
function startSpan({ server, id, method, headers, routeOptions: { url: route } }: FastifyRequest): Span | null {
  if (route === undefined || !TRACED.test(route)) return null;
  const { traceparent } = headers;
  return server.tracer.start(`${method} ${route}`, {
    parent: typeof traceparent === 'string' ? traceparent : undefined,
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.route': route, 'curbcut.request_id': id },
  });
}

function endSpan({ span, logFields }: FastifyRequest, status: number): void {
  const { scan } = logFields ?? {};
  span?.end({
    attributes: { 'http.response.status_code': status, ...(typeof scan === 'string' && { 'curbcut.scan_id': scan }) },
    ...(status >= 500 && { error: `status ${status}` }),
  });
}

/** The duration of an event stream says nothing: it lasts as long as the client wants. */
function measure({ server, method, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const stream = String(reply.getHeader('content-type')).startsWith('text/event-stream');
  const labels = { method, route: routeOptions.url ?? 'unmatched', status: statusOf(reply) };
  server.metrics.requestEnded(stream ? null : labels, reply.elapsedTime / 1000);
}

const requestLog: FastifyPluginAsync = async (app) => {
  app.decorateRequest('address', '');
  app.decorateRequest('logFields', null);
  app.decorateRequest('span', null);
  app.addHook('onRequest', async (request, reply) => {
    // Node asks the socket for it, which has none once the client is gone.
    const { ip } = request as { ip?: string };
    request.address = ip ?? '';
    request.logFields = {};
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    app.metrics.requestBegan();
    request.span = startSpan(request);
    // Not onResponse: it does not fire if the client disconnects.
    reply.raw.once('close', () => {
      logRequest(app.logger, request, reply);
      measure(request, reply);
      endSpan(request, statusOf(reply));
    });
  });
};

export default fp(requestLog, { name: 'request-log' });
