/** Answers 405 with `Allow` if a path exists but not for this method. Fastify would answer 404. */
import { randomUUID } from 'node:crypto';
import { METHODS, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';
import { answerOnSocket, refuse } from './errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Names methods that a path accepts although its route is not in the OpenAPI document. */
    acceptMethods(url: string, methods: string | readonly string[]): void;
    /** The methods that each path accepts. */
    acceptedMethods(): ReadonlyMap<string, ReadonlySet<string>>;
    /** Adds the 405 responses to all routes that are registered. Call it after the last route. */
    refuseOtherMethods(): void;
  }
}

/** Every method that Node parses. CONNECT has no path: Node emits an event for it. */
const ROUTED = METHODS.filter((method) => method !== 'CONNECT');

const methodNotAllowed: FastifyPluginAsync = async (app) => {
  for (const method of ROUTED) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  // Without a listener, Node closes the connection without a response.
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node removes its own listener before this event, and an error without a listener ends the process.
    socket.on('error', () => socket.destroy());
    answerOnSocket(socket, 'method_not_allowed', randomUUID(), { Allow: '' });
    socket.destroySoon();
  });
  const allowed = new Map<string, Set<string>>();
  app.decorate('acceptMethods', (url: string, accepted: string | readonly string[]) => {
    const methods = allowed.get(url) ?? new Set<string>();
    for (const name of [accepted].flat()) methods.add(name);
    allowed.set(url, methods);
  });
  app.decorate('acceptedMethods', () => allowed);
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (!schema?.hide) app.acceptMethods(url, method);
  });
  app.decorate('refuseOtherMethods', () => {
    for (const [url, methods] of allowed) {
      const others = ROUTED.filter((method) => !methods.has(method));
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
