/** Answers 405 with `Allow` if a path exists but not for this method. Fastify would answer 404. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';
import { refuse } from './errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Adds the 405 responses to all routes that are registered. Call it after the last route. */
    refuseOtherMethods(): void;
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const methodNotAllowed: FastifyPluginAsync = async (app) => {
  const allowed = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema?.hide) return;
    const methods = allowed.get(url) ?? new Set<string>();
    for (const name of [method].flat()) methods.add(name);
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
        // Before the body is read.
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
