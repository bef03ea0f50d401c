/** Composes the submission of public scans. */
import { randomUUID } from 'node:crypto';
import { PUBLIC_QUEUE } from '../../core/protocol/custom-resources.ts';
import { NO_TRACER } from '../../platform/tracing.ts';
import type { ApiStores, AppDeps, AppOptions } from '../dependencies.ts';
import type { NetworkLimits } from '../http/networks/network-limits.ts';
import { createQueueGate } from '../scans/submission/queue-gate.ts';
import { createSubmissions } from '../scans/submission/submit.ts';
import { createEstimator, type Estimate } from './estimate.ts';
import type { RequestPublicScan } from './public-scan.ts';
import { createRequestPublicScan } from './request-public-scan.ts';
import { createTurnstile } from './turnstile.ts';

const QUEUE_CACHE_MS = 1_000;

/** What an installation that offers public scans has. */
export interface PublicScanning {
  requestPublicScan: RequestPublicScan;
  estimate: Estimate;
}

/** @returns null if the installation offers no public scans */
export function publicScanningOver(stores: ApiStores, limits: NetworkLimits, deps: AppDeps, app: AppOptions): PublicScanning | null {
  const { now, resolver, metrics, tracer = NO_TRACER } = deps;
  const { namespace, targets, publicScans: options = null, queueCacheMs = QUEUE_CACHE_MS } = app;
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
    turnstile: options.turnstile && createTurnstile(options.turnstile, deps.request ?? fetch),
    estimate,
    now,
    metrics,
    options,
  });
  return { requestPublicScan, estimate };
}
