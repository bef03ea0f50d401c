/** Converts every error to a response of the contract. Details of unexpected errors are only logged. */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { TooBusy } from '../../../platform/concurrency/semaphore.ts';
import { DependencyDown, SubmissionUnconfirmed } from '../dependency-outages.ts';
import { ApiError, bodyOf, ERRORS, statusOf, ValidationFailure, type ErrorCode } from '../errors.ts';
import { errorPage, wantsPage } from '../../web/error-page.ts';
import { annotate } from './request-log.ts';

/** Fastify's own errors that the caller causes. */
const FASTIFY: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
  FST_ERR_NOT_FOUND: 'not_found',
};

const invalidJson = new ValidationFailure([{ loc: ['body'], msg: 'The body is not valid JSON.', type: 'json.invalid' }]);

/** Converts an error to one with a response. Unknown errors become `internal_error`, because their messages may contain internals. */
export function refusalOf(error: unknown): ApiError | ValidationFailure {
  if (error instanceof ApiError || error instanceof ValidationFailure) return error;
  if (error instanceof DependencyDown) return new ApiError('service_unavailable', { cause: error });
  if (error instanceof SubmissionUnconfirmed) return new ApiError('submission_unconfirmed', { cause: error });
  if (error instanceof TooBusy) return new ApiError('replica_busy', { cause: error });
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = FASTIFY[String(code)];
  if (known !== undefined) return new ApiError(known, { cause: error });
  if (error instanceof SyntaxError && statusCode === 400) return invalidJson;
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return invalidJson;
  // Only for Fastify's own errors: an error of a dependency may carry any status.
  if (String(code).startsWith('FST_ERR_') && typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500)
    return new ApiError('bad_request', { cause: error });
  return new ApiError('internal_error', { cause: error });
}

/** Sends the response of an error and adds the error to the request's log line. */
export function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = refusalOf(error);
  annotate(request, {
    refusal: refusal instanceof ApiError ? refusal.code : 'validation',
    ...(statusOf(refusal) >= 500 && { err: refusal.cause ?? refusal }),
  });
  if (refusal instanceof ApiError) {
    if (refusal.retryAfterSeconds !== null) reply.header('Retry-After', refusal.retryAfterSeconds);
    if (refusal.code === 'invalid_api_key') reply.header('WWW-Authenticate', 'ApiKey realm="curbcut"');
  }
  if (wantsPage(request)) return reply.page(errorPage(request, refusal), { status: statusOf(refusal) });
  return reply
    .code(statusOf(refusal))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(bodyOf(refusal, request.id)));
}

/** Answers malformed HTTP on the socket, because there is no request object yet. */
export function refuseClient(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'bad_request';
  answerOnSocket(socket, code, requestId);
}

/** Writes the response of an error to a socket without a request object, and closes the connection. */
export function answerOnSocket(socket: Socket, code: ErrorCode, requestId: string, headers: Readonly<Record<string, string>> = {}): void {
  const { status } = ERRORS[code];
  const body = JSON.stringify(bodyOf(new ApiError(code), requestId));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `X-Request-Id: ${requestId}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    // The router decodes only for methods that some route has.
    return path;
  }
}

function patternOf(route: string): RegExp {
  const parts = route.split(/(:\w+|\*)/).map((part) => (part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}

const parametersIn = (route: string): number => route.match(/[:*]/g)?.length ?? 0;

/** 405 with `Allow` if the path exists for other methods. Of several routes, the one with the fewest parameters counts. */
function missingRoute(request: FastifyRequest, reply: FastifyReply): ApiError {
  const path = decoded(request.url.split('?')[0]!);
  const [route] = [...request.server.acceptedMethods()]
    .filter(([url]) => patternOf(url).test(path))
    .sort(([one], [other]) => parametersIn(one) - parametersIn(other));
  if (route === undefined) return new ApiError('not_found');
  reply.header('Allow', [...route[1]].join(', '));
  return new ApiError('method_not_allowed');
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that each path accepts. */
    acceptedMethods(): ReadonlyMap<string, ReadonlySet<string>>;
  }
}

const errors: FastifyPluginAsync = async (app) => {
  const accepted = new Map<string, ReadonlySet<string>>();
  app.decorate('acceptedMethods', () => accepted);
  app.addHook('onRoute', ({ url, method }) => void accepted.set(url, new Set([...(accepted.get(url) ?? []), ...[method].flat()])));
  app.setErrorHandler((error, request, reply) => refuse(error, request, reply));
  app.addHook('onRequest', async (request, reply) => {
    // Before the body is parsed: an unknown path is 404 even if the body is invalid. The router takes a slash at the end for an empty ID.
    if (request.is404 || Object.entries(request.params as object).some(([name, value]) => name !== '*' && value === ''))
      throw missingRoute(request, reply);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') throw new ApiError('bad_request');
  });
  // Node would answer 417 without a body. HTTP allows a server to ignore expectations that it does not know.
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => app.routing(request, response));
  // Without a listener, Node closes the connection without a response.
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node removes its own listener before this event, and an error without a listener ends the process.
    socket.on('error', () => socket.destroy());
    answerOnSocket(socket, 'method_not_allowed', randomUUID(), { Allow: '' });
    socket.destroySoon();
  });
  app.setNotFoundHandler((request, reply) => refuse(missingRoute(request, reply), request, reply));
};

export default fp(errors, { name: 'errors', dependencies: ['request-log', 'web'] });
