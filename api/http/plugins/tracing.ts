/** Starts a span for every request of the versioned API, within the caller's trace if there is a `traceparent` header. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import type { Span } from '../../../platform/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if the route is not traced. */
    span: Span | null;
  }
}

/** Probes and documents are not traced. */
const TRACED = /^\/v\d+\//;

const tracing: FastifyPluginAsync = async (app) => {
  app.decorateRequest('span', null);
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url;
    if (route === undefined || !TRACED.test(route)) return;
    const { traceparent } = request.headers;
    const span = app.tracer.start(`${request.method} ${route}`, {
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      kind: 'server',
      attributes: { 'http.request.method': request.method, 'http.route': route, 'curbcut.request_id': request.id },
    });
    request.span = span;
    // Not onResponse: it does not fire if the client disconnects.
    reply.raw.once('close', () => {
      const { scan } = request.logFields ?? {};
      span.end({
        attributes: { 'http.response.status_code': reply.statusCode, ...(typeof scan === 'string' && { 'curbcut.scan_id': scan }) },
        ...(reply.statusCode >= 500 && { error: `status ${reply.statusCode}` }),
      });
    });
  });
};

export default fp(tracing, { name: 'tracing', dependencies: ['request-log'] });
