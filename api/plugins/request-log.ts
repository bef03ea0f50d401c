/** Gives every request an id, and every finished one a single wide log line. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import { REQUEST_ID } from '../../core/protocol/custom-resources.ts';
import type { Api } from '../api.ts';

/** The caller's X-Request-Id if it is a safe token, else a new one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Route patterns and ids only: a path or a header might carry a secret that was put in the wrong place. */
export function installRequestLog(app: Api, logger: Logger): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('notes', null);
  app.addHook('onRequest', async (request, reply) => {
    request.notes = {};
    reply.header('X-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    // Not onResponse: it never comes where the client went away.
    reply.raw.once('close', () => logRequest(logger, request, reply));
  });
}

/** Writes the line: an error where we failed, else what happened. */
export function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { cause, ...notes } = request.notes ?? {};
  const fields = {
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url ?? null,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    ...(!reply.raw.writableFinished && { aborted: true }),
    ...notes,
    ...(cause !== undefined && { err: cause }),
  };
  if (reply.statusCode >= 500) logger.error(fields, 'request failed');
  else logger.info(fields, 'request');
}
