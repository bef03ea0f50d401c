/** Composes the app from plugins and routes. It does not listen: `main.ts` and the tests do that. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyError,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
} from 'fastify';
import { keyRoutes } from './accounts/api-keys.ts';
import { billingRoutes, ledgerRoutes } from './accounts/billing.ts';
import { knownIssueRoutes } from './accounts/known-issues.ts';
import { meRoutes } from './accounts/me.ts';
import sessions from './accounts/sessions/plugin.ts';
import { dashboardRoutes } from './dashboard/dashboard.ts';
import { addDecorators, type AppDeps } from './decorators.ts';
import { withDefaultSettings, type AppOptions, type Settings } from './dependencies.ts';
import { docsRoutes } from './docs/routes.ts';
import { createTrust } from './http/networks/networks.ts';
import networks from './http/networks/plugin.ts';
import auth from './http/plugins/auth.ts';
import denials from './http/plugins/denials.ts';
import errors, { refuse, refuseClient } from './http/plugins/errors.ts';
import idempotency from './http/plugins/idempotency.ts';
import jsonBodies from './http/validation.ts';
import openApi from './http/plugins/openapi.ts';
import permissions from './http/plugins/permissions.ts';
import rateLimits from './http/plugins/rate-limits.ts';
import requestLog, { logRequest, requestIdOf } from './http/plugins/request-log.ts';
import { serviceRoutes } from './http/service.ts';
import { publicPages } from './public/pages/routes.ts';
import { publicRoutes } from './public/routes.ts';
import { recipientRoutes } from './public/recipient.ts';
import { unsubscribeRoutes } from './public/unsubscribe.ts';
import { cancelRoutes } from './scans/cancel.ts';
import { deletionRoutes } from './scans/deletion.ts';
import { reportRoutes } from './scans/reports.ts';
import { scanListRoutes } from './scans/scan-list.ts';
import { siteListRoutes } from './scans/sites.ts';
import { scanRoutes } from './scans/scans.ts';
import { scheduleRoutes } from './schedules/routes.ts';
import { scanEventRoutes } from './streams/scan-events.ts';
import web from './web/plugin.ts';
import { webhookRoutes } from './webhooks/routes.ts';

/** Far above the largest valid request. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** Builds the app. `app.ready()` or `app.listen()` starts it; `app.close()` ends event streams and waits for other requests. */
export async function buildApp(deps: AppDeps, options: AppOptions): Promise<FastifyInstance> {
  const settings = withDefaultSettings(options);
  const app = Fastify(serverOptions(deps, settings));
  addDecorators(app, deps, settings);
  await app.register(requestLog);
  await app.register(jsonBodies);
  await app.register(web);
  await app.register(sessions);
  await app.register(errors);
  await app.register(networks);
  await app.register(idempotency);
  await app.register(openApi);

  await app.register(serviceRoutes);
  await app.register(publicRoutes);
  await app.register(authenticatedRoutes);
  if (settings.dashboard) await app.register(dashboardRoutes);
  await app.register(publicPages);
  await app.register(unsubscribeRoutes);
  await app.register(recipientRoutes);
  await app.register(docsRoutes);

  // Each answer during the shutdown closes its connection: a kept one would keep the process running.
  let closing = false;
  app.addHook('preClose', async () => void (closing = true));
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('Connection', 'close');
  });
  // Streams end before the server stops listening, so that clients reconnect to another replica with Last-Event-ID.
  app.addHook('preClose', async () => app.eventStreams.end());
  // What requests left to be written outside them.
  app.addHook('onClose', async () => {
    const { keys, organisations, signInFailures } = app.stores;
    await Promise.all([keys, organisations, signInFailures].map((store) => store.flush()));
  });
  return app;
}

/** Every route that requires an API key. */
async function authenticatedRoutes(scope: FastifyInstance): Promise<void> {
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('Cache-Control', 'no-store');
  });
  // Where the new resource is: below the list that it was added to.
  scope.addHook('preSerialization', async (request, reply, body) => {
    if (reply.statusCode === 201) reply.header('Location', `${request.routeOptions.url}/${(body as { id: string }).id}`);
    return body;
  });
  await scope.register(denials);
  await scope.register(auth);
  await scope.register(rateLimits);
  await scope.register(permissions);

  await scope.register(scanRoutes);
  await scope.register(scanListRoutes);
  await scope.register(siteListRoutes);
  await scope.register(cancelRoutes);
  await scope.register(deletionRoutes);
  await scope.register(scanEventRoutes);
  await scope.register(reportRoutes);
  await scope.register(billingRoutes);
  await scope.register(ledgerRoutes);
  await scope.register(keyRoutes);
  await scope.register(webhookRoutes);
  await scope.register(knownIssueRoutes);
  await scope.register(scheduleRoutes);
  await scope.register(meRoutes);
}

function serverOptions({ logger }: AppDeps, { requestTimeoutMs, trustedProxies }: Settings): FastifyHttpOptions<RawServerDefault> {
  return {
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Only these may state another client address than their own.
    trustProxy: trustedProxies.length > 0 ? createTrust(trustedProxies) : false,
    genReqId: requestIdOf,
    // Requests on open connections are answered normally during shutdown, because Fastify's own 503 has a different body.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: requestTimeoutMs,
    // `plugins/errors.ts` checks the Host header, because Node would answer 400 without a body.
    http: { connectionsCheckingInterval: Math.min(5_000, requestTimeoutMs), requireHostHeader: false },
    // Long enough that validation rejects an overlong ID as "not a UUID"; Fastify would answer 404.
    routerOptions: { maxParamLength: 16 * 1024 },
    clientErrorHandler: (error: Error, socket: Socket) => refuseClient(error, socket, randomUUID()),
    // Fastify runs no hooks for a path that it cannot decode.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('X-Request-Id', request.id);
      refuse(error, request, reply);
      logRequest(logger, request, reply);
    },
  };
}
