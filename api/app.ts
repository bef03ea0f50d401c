/** Composes the front door from what it stands on. It listens to nothing yet: `main.ts` and the tests do. */
import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyError, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Socket } from 'node:net';
import { NO_TRACER } from '../platform/tracing.ts';
import type { Api } from './api.ts';
import { guardStores, type AppDependencies, type AppOptions } from './dependencies.ts';
import { TIMINGS } from './scan-stream.ts';
import { LIMITS } from './rate-limits.ts';
import { requireKey } from './plugins/auth.ts';
import { installErrors, refuse, refuseClient } from './plugins/errors.ts';
import { limitRequests } from './plugins/limits.ts';
import { collectMethods } from './plugins/methods.ts';
import requestMetrics from './plugins/request-metrics.ts';
import { installOpenApi } from './plugins/openapi.ts';
import { installRequestLog, logRequest, requestIdOf } from './plugins/request-log.ts';
import { installTracing } from './plugins/tracing.ts';
import { InsufficientCredits, ErrorBody, ValidationError } from './responses.ts';
import { IssuedKey, keyRoutes, ListedKey } from './routes/api-keys.ts';
import { billingRoutes, CreditBalance } from './routes/billing.ts';
import { CompleteEvent, eventRoutes, ProgressEvent } from './routes/events.ts';
import { ReportLink, reportRoutes } from './routes/reports.ts';
import { acceptedAnswer, ScanAccepted, scanRoutes, ScanResult } from './routes/scans.ts';
import { serviceRoutes } from './routes/service.ts';
import { createSubmissions } from './submission/submit.ts';
import { createValidatorCompiler } from './validation.ts';

/** No request of this API comes near it. */
const BODY_LIMIT_BYTES = 64 * 1024;

const COMPONENTS = [
  ErrorBody,
  InsufficientCredits,
  ValidationError,
  ScanAccepted,
  ScanResult,
  ProgressEvent,
  CompleteEvent,
  ReportLink,
  CreditBalance,
  IssuedKey,
  ListedKey,
];

/** Builds the app; `app.ready()` or `app.listen()` starts it, `app.close()` ends its streams and lets requests finish. */
export async function buildApp(dependencies: AppDependencies, options: AppOptions): Promise<Api> {
  const { bus, resolver, clock, logger, probes, metrics, tracer = NO_TRACER } = dependencies;
  const stores = guardStores(dependencies.stores, { timeoutMs: options.dependencyTimeoutMs ?? 6_000, onDown: metrics.dependencyDown });

  const app: Api = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: requestIdOf,
    // Requests that come on an open connection while we close are answered, not cut off with a body of another shape.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: options.requestTimeoutMs ?? 30_000,
    http: { connectionsCheckingInterval: Math.min(5_000, options.requestTimeoutMs ?? 5_000) },
    // An id of any length is answered as what it is: not a UUID.
    routerOptions: { maxParamLength: 16 * 1024 },
    clientErrorHandler: (error: Error, socket: Socket) => refuseClient(error, socket, randomUUID()),
    // A path that cannot be decoded never reaches the hooks.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('X-Request-Id', request.id);
      refuse(error, request, reply);
      logRequest(logger, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>() as Api;

  app.setValidatorCompiler(createValidatorCompiler());
  // What is sent is what the routes made: nothing is dropped or converted on the way, and the tests check all of it.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  acceptJsonOnly(app);
  for (const schema of COMPONENTS) app.addSchema(schema);

  installRequestLog(app, logger);
  await app.register(requestMetrics, { metrics });
  installTracing(app, tracer);
  installErrors(app);
  releaseConnections(app);
  const refuseOtherMethods = collectMethods(app);
  await installOpenApi(app, options);
  serviceRoutes(app, { probes, metrics });

  const submissions = createSubmissions({
    stores,
    resolver,
    clock,
    tracer,
    newId: randomUUID,
    namespace: options.namespace,
    targets: options.targets,
    maxLiveScans: options.maxLiveScans,
    answerFor: acceptedAnswer,
  });

  await app.register(async (keyed) => {
    keyed.addHook('onRequest', async (_request, reply) => {
      reply.header('Cache-Control', 'no-store');
    });
    requireKey(keyed as Api, stores);
    limitRequests(keyed as Api, stores.rateLimits, { ...LIMITS, ...options.limits });
    scanRoutes(keyed as Api, { submissions, scans: stores.scans, metrics, logger, maxPagesLimit: options.maxPagesLimit });
    eventRoutes(keyed as Api, { scans: stores.scans, bus, metrics, timings: { ...TIMINGS, ...options.streams } });
    reportRoutes(keyed as Api, stores);
    billingRoutes(keyed as Api, stores);
    keyRoutes(keyed as Api, { ...stores, clock, logger });
  });
  refuseOtherMethods();
  return app;
}

/** Connections of requests that end while we close are ended with them; kept alive, they would keep the process alive. */
function releaseConnections(app: Api): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('Connection', 'close');
  });
}

/** JSON is the only body that is taken; an empty one is none, whatever its type is said to be. */
function acceptJsonOnly(app: Api): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else void parse(request, body as string, done);
  });
}
