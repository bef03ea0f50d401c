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
import { isWellFormed } from '../stores/accounts/key-format.ts';
import type { KeyHolder } from '../stores/accounts/keys.ts';
import { isSessionSecret } from '../stores/accounts/sessions.ts';
import { createCredentials, type Credentials } from './http/networks/credentials.ts';
import { createNetworkLimits } from './http/networks/network-limits.ts';
import { createTrust } from './http/networks/networks.ts';
import networks from './http/networks/plugin.ts';
import type { Logger } from '../platform/logger.ts';
import { NO_TRACER } from '../platform/tracing.ts';
import { dashboardRoutes } from './dashboard/dashboard.ts';
import { createReportFormats } from '../report/workers/report-formats.ts';
import { openComparisons } from '../report/workers/comparisons.ts';
import type { ScanPageDeps } from './dashboard/routes/deps.ts';
import type { ApiStores, AppDeps, AppOptions } from './dependencies.ts';
import { detectStoreOutages } from './http/dependency-outages.ts';
import { createEventStreams, credentialCheck, type EventStreams } from './streams/event-streams.ts';
import auth from './http/plugins/auth.ts';
import denials from './http/plugins/denials.ts';
import errors, { refuse, refuseClient } from './http/plugins/errors.ts';
import gracefulClose from './http/plugins/graceful-close.ts';
import idempotency from './http/plugins/idempotency.ts';
import jsonBodies from './http/plugins/json-bodies.ts';
import methodNotAllowed from './http/plugins/method-not-allowed.ts';
import openApi from './http/plugins/openapi.ts';
import permissions from './http/plugins/permissions.ts';
import rateLimits from './http/plugins/rate-limits.ts';
import requestLog, { logRequest, requestIdOf } from './http/plugins/request-log.ts';
import requestMetrics from './http/plugins/request-metrics.ts';
import tracing from './http/plugins/tracing.ts';
import { publicPages } from './public/pages/routes.ts';
import { publicScanningOver } from './public/compose.ts';
import { PublicScanAccepted, publicRoutes } from './public/routes.ts';
import { widgetOf } from './public/turnstile.ts';
import { PublicIssue, PublicScanStatus } from './public/status.ts';
import { unsubscribeRoutes } from './public/unsubscribe.ts';
import { createQueuePositions } from './scans/queue-positions.ts';
import { LIMITS } from './http/rate-limits.ts';
import { docsRoutes } from './docs/routes.ts';
import { referenceRoutes } from './http/reference/routes.ts';
import { ErrorBody, InsufficientCredits, ValidationError } from './http/responses.ts';
import { IssuedKey, KeyList, keyRoutes, ListedKey } from './accounts/api-keys.ts';
import { knownIssueRoutes, ListedKnownIssue } from './accounts/known-issues.ts';
import { Me, meRoutes } from './accounts/me.ts';
import { billingRoutes, CreditBalance } from './accounts/billing.ts';
import { cancelRoutes } from './scans/cancel.ts';
import { Ledger, LedgerItem, ledgerRoutes } from './accounts/ledger.ts';
import { ReportLink, reportRoutes } from './scans/reports.ts';
import { CompleteEvent, ProgressEvent, scanEventRoutes } from './streams/scan-events.ts';
import { ListedScan, ScanList, scanListRoutes } from './scans/scan-list.ts';
import { acceptedAnswer, ScanAccepted, ScanResult, scanRoutes } from './scans/scans.ts';
import { serviceRoutes } from './http/service.ts';
import { webhookRoutes } from './webhooks/routes.ts';
import { DeliveryBody, IssuedWebhookBody, WebhookBody, WebhookListBody } from './webhooks/schemas.ts';
import { createIdentityProvider } from './accounts/sessions/identity-provider.ts';
import sessions from './accounts/sessions/plugin.ts';
import { STREAM_TIMINGS } from './streams/scan-stream.ts';
import { createQueueGate } from './scans/submission/queue-gate.ts';
import { createSubmissions } from './scans/submission/submit.ts';
import { createPageReports } from './scans/views.ts';
import web from './web/plugin.ts';

/** Far above the largest valid request. */
const BODY_LIMIT_BYTES = 64 * 1024;
const DEPENDENCY_TIMEOUT_MS = 6_000;
const REQUEST_TIMEOUT_MS = 30_000;
const QUEUE_CACHE_MS = 1_000;
const POSITIONS_CACHE_MS = 2_000;

const COMPONENTS = [
  ErrorBody,
  InsufficientCredits,
  ValidationError,
  ScanAccepted,
  ScanResult,
  ListedScan,
  ScanList,
  ProgressEvent,
  CompleteEvent,
  ReportLink,
  PublicScanAccepted,
  PublicIssue,
  PublicScanStatus,
  CreditBalance,
  LedgerItem,
  Ledger,
  IssuedKey,
  ListedKey,
  KeyList,
  ListedKnownIssue,
  Me,
  WebhookBody,
  IssuedWebhookBody,
  WebhookListBody,
  DeliveryBody,
];

/** Builds the app. `app.ready()` or `app.listen()` starts it; `app.close()` ends event streams and waits for other requests. */
export async function buildApp(deps: AppDeps, options: AppOptions): Promise<FastifyInstance> {
  const { now, logger, metrics, tracer = NO_TRACER } = deps;
  const timeoutMs = options.dependencyTimeoutMs ?? DEPENDENCY_TIMEOUT_MS;
  const outages = { timeoutMs, onDown: metrics.dependencyDown };
  const stores = detectStoreOutages(deps.stores, outages);
  const anonymous = deps.anonymousStores === undefined ? stores : detectStoreOutages(deps.anonymousStores, outages);
  const app = Fastify(serverOptions(logger, options));
  await app.register(requestLog, { logger });
  await app.register(requestMetrics, { metrics });
  await app.register(tracing, { tracer });
  await app.register(jsonBodies);
  await app.register(web, { publicBaseUrl: options.publicBaseUrl, dashboard: options.dashboard ?? true });
  app.decorate('allStores', stores);
  const limits = createNetworkLimits({ sizes: options.networkLimits, onDenied: metrics.networkLimited });
  const people = createCredentials({ store: stores.sessions, wellFormed: isSessionSecret, limits });
  await app.register(sessions, { credentials: people, publicBaseUrl: options.publicBaseUrl });
  await app.register(errors);
  await app.register(networks, { limits, trusted: createTrust(options.trustedProxies ?? []), logger });
  await app.register(gracefulClose);
  await app.register(methodNotAllowed);
  await app.register(idempotency, { idempotency: stores.idempotency, anonymous: anonymous.idempotency, logger });
  await app.register(openApi, { publicBaseUrl: options.publicBaseUrl, version: options.version, components: COMPONENTS });

  const { requestPublicScan, estimate } = publicScanningOver(anonymous, limits, deps, options) ?? {
    requestPublicScan: null,
    estimate: null,
  };

  await app.register(serviceRoutes);
  const views = createPageReports(stores.reports);
  await app.register(publicRoutes, { requestPublicScan, stores: anonymous, reports: views, metrics, logger });
  const services = scanServices(app, stores, deps, options);
  const keys = createCredentials({ store: stores.keys, wellFormed: isWellFormed, limits });
  await app.register((scope) => authenticatedRoutes(scope, stores, deps, options, { ...services, keys }));
  if (options.dashboard ?? true)
    await app.register((scope) =>
      dashboardRoutes(scope, {
        stores,
        anonymous,
        now,
        logger,
        scans: scanPageDeps(stores, deps, options, { ...services, pictures: views }),
        mail: options.mail ?? false,
        webhooks: webhookDeps(deps, options),
        ...signInOf(options),
      }),
    );
  await app.register(publicPages, {
    ...anonymous,
    reports: views,
    reportObjects: stores.reports,
    requestPublicScan,
    estimate,
    now: deps.now,
    turnstile: widgetOf(options.publicScans?.turnstile),
    positions: services.positions,
    logger,
  });
  await app.register(unsubscribeRoutes, anonymous);
  await app.register(referenceRoutes);
  await app.register(docsRoutes);
  app.refuseOtherMethods();
  // What requests left to be written outside them.
  app.addHook('onClose', async () => void (await Promise.all([stores.keys.flush(), stores.signInFailures.flush()])));
  return app;
}

/** How users sign in. */
function signInOf({ identityProvider, publicBaseUrl }: AppOptions) {
  if (identityProvider === undefined) return { signIn: { provider: null, local: true }, identityProvider: null };
  const { name, localPasswords, ...provider } = identityProvider;
  return {
    signIn: { provider: `Sign in with ${name}`, local: localPasswords },
    identityProvider: createIdentityProvider({ ...provider, redirectUri: `${publicBaseUrl}/dashboard/sign-in/oidc/callback` }),
  };
}

/** Every route that requires an API key. */
async function authenticatedRoutes(
  scope: FastifyInstance,
  stores: ApiStores,
  deps: AppDeps,
  options: AppOptions,
  { submissions, positions, streams, keys }: ScanServices & { keys: Credentials<KeyHolder> },
): Promise<void> {
  const { now, logger, metrics } = deps;
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('Cache-Control', 'no-store');
  });
  await scope.register(denials);
  await scope.register(auth, { credentials: keys, keys: stores.keys, sessions: options.dashboard ?? true });
  const sizes = { ...LIMITS, ...options.limits };
  await scope.register(rateLimits, { rateLimits: stores.rateLimits, sizes });
  await scope.register(permissions);

  await scope.register(scanRoutes, { submissions, scans: stores.scans, positions, metrics, logger, maxPagesLimit: options.maxPagesLimit });
  await scope.register(scanListRoutes, { scans: stores.scans });
  await scope.register(cancelRoutes, { scans: stores.scans, scanResources: stores.scanResources, metrics, logger });
  await scope.register(scanEventRoutes, { streams });
  await scope.register(reportRoutes, { scans: stores.scans, reports: stores.reports, formats: createReportFormats(stores.reports) });
  await scope.register(billingRoutes, { credits: stores.credits });
  await scope.register(ledgerRoutes);
  await scope.register(keyRoutes, { now, logger });
  await scope.register(webhookRoutes, { ...webhookDeps(deps, options), now, logger });
  await scope.register(knownIssueRoutes, { now, logger });
  await scope.register(meRoutes, { sizes, maxPagesLimit: options.maxPagesLimit });
}

/** What the API and the dashboard share, so that both have the same limits. */
type ScanServices = Pick<ScanPageDeps, 'submissions' | 'positions' | 'streams'>;

function scanServices(app: FastifyInstance, stores: ApiStores, deps: AppDeps, options: AppOptions): ScanServices {
  return {
    submissions: submissionsOver(stores, deps, options),
    positions: createQueuePositions({ ...stores, cacheMs: options.queueCacheMs ?? POSITIONS_CACHE_MS }),
    streams: eventStreamsOver(app, stores, deps, options),
  };
}

/** The pages of scans need more than REST: findings and comparisons. */
function scanPageDeps(
  stores: ApiStores,
  deps: AppDeps,
  options: AppOptions,
  services: ScanServices & Pick<ScanPageDeps, 'pictures'>,
): ScanPageDeps {
  const { reports } = stores;
  return {
    ...services,
    reports,
    scans: stores.scans,
    scanResources: stores.scanResources,
    rateLimits: stores.rateLimits,
    comparisons: openComparisons({ reports: stores.reports, cache: stores.comparisonCache, now: deps.now, logger: deps.logger }),
    limits: { ...LIMITS, ...options.limits },
    metrics: deps.metrics,
    logger: deps.logger,
    newId: randomUUID,
    maxPagesLimit: options.maxPagesLimit,
    allowPrepareSteps: options.allowPrepareSteps ?? true,
  };
}

const webhookDeps = ({ resolver }: AppDeps, { targets, webhooks = true }: AppOptions) => ({ webhooksOn: webhooks, targets, resolver });

/** Streams end before the server stops listening, so that clients reconnect to another replica with Last-Event-ID. */
function eventStreamsOver(app: FastifyInstance, { scans, keys, sessions }: ApiStores, deps: AppDeps, options: AppOptions): EventStreams {
  const streams = createEventStreams({
    scans,
    usable: credentialCheck({ keys: keys.usable, sessions: sessions.usable }),
    bus: deps.bus,
    metrics: deps.metrics,
    logger: deps.logger,
    timings: { ...STREAM_TIMINGS, ...options.streams },
    maxStreams: options.maxEventStreams,
  });
  app.addHook('preClose', async () => streams.end());
  return streams;
}

function submissionsOver(stores: ApiStores, { resolver, now, tracer = NO_TRACER }: AppDeps, options: AppOptions) {
  const {
    namespace,
    targets,
    testTargets = [],
    allowPrepareSteps = true,
    allowScanSecrets = [],
    maxLiveScans,
    maxLiveScansPerOrganisation,
  } = options;
  return createSubmissions({
    stores,
    resolver,
    now,
    tracer,
    newId: randomUUID,
    namespace,
    targets,
    testTargets,
    allowPrepareSteps,
    allowScanSecrets,
    maxLiveScansPerOrganisation,
    queueGate: createQueueGate({ ...stores, now, maxLiveScans, cacheMs: options.queueCacheMs ?? QUEUE_CACHE_MS }),
    answerFor: acceptedAnswer,
  });
}

function serverOptions(logger: Logger, options: AppOptions): FastifyHttpOptions<RawServerDefault> {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, trustedProxies = [] } = options;
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
