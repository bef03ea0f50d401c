/** Measures the duration of every request except event streams, which last as long as the client wants. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';

const requestMetrics: FastifyPluginAsync = async (app) => {
  const { metrics } = app;
  app.addHook('onRequest', async (request, reply) => {
    metrics.requestBegan();
    // Not onResponse: it does not fire if the client disconnects.
    reply.raw.once('close', () => {
      const stream = String(reply.getHeader('content-type')).startsWith('text/event-stream');
      const labels = { method: request.method, route: request.routeOptions.url ?? 'unmatched', status: reply.statusCode };
      metrics.requestEnded(stream ? null : labels, reply.elapsedTime / 1000);
    });
  });
};

export default fp(requestMetrics, { name: 'request-metrics' });
