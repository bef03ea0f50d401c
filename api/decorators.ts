/** What plugins and routes find on the app, such as `app.stores` or `request.server.stores`, and how it is made. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Resolver } from '../core/scan/targets.ts';
import type { Logger } from '../platform/logger.ts';
import { NO_TRACER, type Tracer } from '../platform/tracing.ts';
import { openComparisons, type Comparisons } from '../report/workers/comparisons.ts';
import { createReportFormats, type ReportFormats } from '../report/workers/report-formats.ts';
import { createIdentityProvider, type IdentityProvider } from './accounts/sessions/identity-provider.ts';
import type { MessageBus } from '../stores/nats.ts';
import { createLocalLimits, type RateLimits } from '../stores/rate-limits.ts';
import type { ApiStores, Settings } from './dependencies.ts';
import { detectStoreOutages } from './http/dependency-outages.ts';
import { createNetworkLimits, type NetworkLimits } from './http/networks/network-limits.ts';
import type { Metrics } from './metrics.ts';
import { PUBLIC_QUEUE } from '../core/protocol/custom-resources.ts';
import { createEstimator } from './public/estimate.ts';
import { createRequestPublicScan, type PublicScanning } from './public/request-public-scan.ts';
import { createTurnstile } from './public/turnstile.ts';
import { createQueuePositions, type QueuePositions } from './scans/queue-positions.ts';
import { acceptedAnswer } from './scans/scans.ts';
import { createQueueGate, createSubmissions } from './scans/submission/submit.ts';
import type { Submissions } from './scans/submission/submission.ts';
import { createPageReports, type PageReports } from './scans/scan-views.ts';
import { createEventStreams, credentialCheck, type EventStreams } from './streams/event-streams.ts';

export interface AppDeps {
  stores: ApiStores;
  /** The same stores over a few connections of their own, for requests without a valid key or session. Default: `stores`. */
  anonymousStores?: ApiStores;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  resolver: Resolver;
  now: () => Date;
  logger: Logger;
  metrics: Metrics;
  /** Default: no tracing. */
  tracer?: Tracer;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The stores of all organisations. What a caller may see of its own organisation: `storesOf(request)`. */
    stores: ApiStores;
    /** The same over a few connections of their own, for requests without a valid key or session. */
    anonymousStores: ApiStores;
    settings: Settings;
    metrics: Metrics;
    /** Not `app.log`, which is Fastify's own and off. */
    logger: Logger;
    tracer: Tracer;
    now: () => Date;
    /** Looks up the hosts of targets. */
    resolver: Resolver;
    networkLimits: NetworkLimits;
    /** The requests of signed-in users for pages, in the memory of this replica. */
    pageLimits: RateLimits;
    submissions: Submissions;
    queuePositions: QueuePositions;
    eventStreams: EventStreams;
    /** Views, findings and pictures of reports, for pages. */
    scanViews: PageReports;
    comparisons: Comparisons;
    /** Formats that are made from exports, for the API and the dashboard. */
    reportFormats: ReportFormats;
    /** Null if the installation offers no public scans. */
    publicScanning: PublicScanning | null;
    /** Null if none is configured. */
    identityProvider: IdentityProvider | null;
  }
}

/** Adds them. Later ones are made from earlier ones. */
export function addDecorators(app: FastifyInstance, deps: AppDeps, settings: Settings): void {
  const { metrics, logger, now, resolver, tracer = NO_TRACER } = deps;
  const outages = { timeoutMs: settings.dependencyTimeoutMs, onDown: metrics.dependencyDown };
  const stores = detectStoreOutages(deps.stores, outages);
  app.decorate('settings', settings);
  app.decorate('metrics', metrics);
  app.decorate('logger', logger);
  app.decorate('tracer', tracer);
  app.decorate('now', now);
  app.decorate('resolver', resolver);
  app.decorate('stores', stores);
  app.decorate('anonymousStores', deps.anonymousStores === undefined ? stores : detectStoreOutages(deps.anonymousStores, outages));
  app.decorate('networkLimits', createNetworkLimits({ sizes: settings.networkLimits, onDenied: metrics.networkLimited }));
  app.decorate('pageLimits', createLocalLimits());
  app.decorate('submissions', submissionsOf(app));
  app.decorate('queuePositions', createQueuePositions({ ...stores, cacheMs: 2 * settings.queueCacheMs }));
  app.decorate('eventStreams', eventStreamsOf(app, deps.bus));
  app.decorate('scanViews', createPageReports(stores.reports));
  app.decorate('reportFormats', createReportFormats(stores.reports));
  app.decorate('comparisons', openComparisons({ reports: stores.reports, cache: stores.comparisonCache, now, logger }));
  app.decorate('publicScanning', publicScanningOf(app));
  app.decorate('identityProvider', identityProviderOf(settings));
}

function submissionsOf({ stores, settings, resolver, now, tracer }: FastifyInstance): Submissions {
  const { maxLiveScans, queueCacheMs } = settings;
  return createSubmissions({
    ...settings,
    stores,
    resolver,
    now,
    tracer,
    newId: randomUUID,
    queueGate: createQueueGate({ ...stores, now, maxLiveScans, cacheMs: queueCacheMs }),
    answerFor: acceptedAnswer,
  });
}

/** @returns null if the installation offers no public scans */
function publicScanningOf(app: FastifyInstance): PublicScanning | null {
  const { anonymousStores: stores, networkLimits: limits, now, resolver, metrics, tracer } = app;
  const { namespace, targets, publicScans: options, queueCacheMs } = app.settings;
  if (options === null) return null;
  const submissions = createSubmissions({
    stores,
    resolver,
    now,
    tracer,
    newId: randomUUID,
    namespace,
    targets,
    testTargets: [],
    allowPrepareSteps: false,
    allowScanSecrets: [],
    maxLiveScansPerOrganisation: options.maxLive,
    queueGate: createQueueGate({ ...stores, now, queue: PUBLIC_QUEUE, maxLiveScans: null, cacheMs: queueCacheMs }),
    // The token is the answer.
    answerFor: () => ({ headers: {}, body: null }),
  });
  const estimate = createEstimator({ ...stores, maxRunning: options.maxRunning });
  const requestPublicScan = createRequestPublicScan({
    stores,
    limits,
    submissions,
    turnstile: options.turnstile && createTurnstile(options.turnstile),
    estimate,
    now,
    metrics,
    options,
  });
  return { requestPublicScan, estimate };
}

function eventStreamsOf(
  { stores: { scans, keys, sessions }, settings, metrics, logger }: FastifyInstance,
  bus: AppDeps['bus'],
): EventStreams {
  return createEventStreams({
    scans,
    usable: credentialCheck({ keys: keys.usable, sessions: sessions.usable }),
    bus,
    metrics,
    logger,
    timings: settings.streams,
    maxStreams: settings.maxEventStreams,
  });
}

function identityProviderOf({ identityProvider, publicBaseUrl }: Settings): IdentityProvider | null {
  if (identityProvider === null) return null;
  return createIdentityProvider({ ...identityProvider, redirectUri: `${publicBaseUrl}/dashboard/sign-in/oidc/callback` });
}
