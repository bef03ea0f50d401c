/** What this app adds to Fastify's types: its type provider, and what a request carries. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Caller } from '../core/organisation.ts';
import type { Span } from '../platform/tracing.ts';
import type { LimitName } from './rate-limits.ts';

export type Api = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null outside the scope that `plugins/auth.ts` guards. */
    caller: Caller | null;
    /** What the request's one log line says beside the usual. Never a secret. */
    notes: Record<string, unknown> | null;
    /** Its span; null where the route is not traced. */
    span: Span | null;
  }
  interface FastifyContextConfig {
    /** The organisation's limit that this route counts against, beside the key's. */
    limit?: LimitName;
  }
}

/** Who asks, within the guarded scope. */
export function callerOf(request: { caller: Caller | null }): Caller {
  if (request.caller === null) throw new TypeError('a route outside the guarded scope asked for its caller');
  return request.caller;
}
