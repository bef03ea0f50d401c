/** Assigns an ID to every request and writes one log line per request. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { REQUEST_ID } from '../../../core/protocol/custom-resources.ts';
import type { Logger } from '../../../platform/logger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Additional fields of the request's log line. Null if Fastify rejected the request before any hook ran. */
    logFields: Record<string, unknown> | null;
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

/** Writes the log line. It contains only route patterns and IDs, because a path or a header may contain a secret by mistake. */
export function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const fields = {
    request: request.id,
    method: request.method,
    route: request.routeOptions.url ?? null,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    ...(!reply.raw.writableFinished && { aborted: true }),
    ...request.logFields,
  };
  if (reply.statusCode >= 500) logger.error(fields, 'request failed');
  else logger.info(fields, 'request');
}

const requestLog: FastifyPluginAsync = async (app) => {
  app.decorateRequest('logFields', null);
  app.addHook('onRequest', async (request, reply) => {
    request.logFields = {};
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    // Not onResponse: it does not fire if the client disconnects.
    reply.raw.once('close', () => logRequest(app.logger, request, reply));
  });
};

export default fp(requestLog, { name: 'request-log' });
