/** Answers a documented path that is requested with another method: 405 with `Allow`, not a 404 that hides the path. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';
import { refuse } from './errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Adds the 405 answers to every route so far. Call it after the last route. */
    refuseOtherMethods(): void;
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const methodNotAllowed: FastifyPluginAsync = async (app) => {
  const allowed = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema?.hide) return;
    const methods = allowed.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one);
    allowed.set(url, methods);
  });
  app.decorate('refuseOtherMethods', () => {
    for (const [url, methods] of allowed) {
      const others = METHODS.filter((method) => !methods.has(method));
      if (others.length === 0) continue;
      app.route({
        url,
        method: others,
        schema: { hide: true },
        // Refused before the body is read.
        onRequest: (request, reply, _done) => {
          reply.header('Allow', [...methods].join(', '));
          refuse(new ApiError('method_not_allowed'), request, reply);
        },
        handler: () => undefined,
      });
    }
  });
};

export default fp(methodNotAllowed, { name: 'method-not-allowed' });
