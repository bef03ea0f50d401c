/** Begins a span for every request of the versioned API, within the caller's own trace where it sends one. */
import type { Tracer } from '../../platform/tracing.ts';
import type { Api } from '../api.ts';

/** Not for probes and documents, which nobody follows. */
const TRACED = /^\/v\d+\//;

export function installTracing(app: Api, tracer: Tracer): void {
  app.decorateRequest('span', null);
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url;
    if (route === undefined || !TRACED.test(route)) return;
    const { traceparent } = request.headers;
    const span = tracer.start(`${request.method} ${route}`, {
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      kind: 'server',
      attributes: { 'http.request.method': request.method, 'http.route': route, 'curbcut.request_id': request.id },
    });
    request.span = span;
    // Not onResponse: it never comes where the client went away.
    reply.raw.once('close', () => {
      const { scan } = request.notes ?? {};
      span.end({
        attributes: { 'http.response.status_code': reply.statusCode, ...(typeof scan === 'string' && { 'curbcut.scan_id': scan }) },
        ...(reply.statusCode >= 500 && { error: `status ${reply.statusCode}` }),
      });
    });
  });
}
