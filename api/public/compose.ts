/** Composes the submission of public scans. */
import { randomUUID } from 'node:crypto';
import { PUBLIC_QUEUE } from '../../core/protocol/custom-resources.ts';
import type { FastifyInstance } from 'fastify';
import { createQueueGate } from '../scans/submission/queue-gate.ts';
import { createSubmissions } from '../scans/submission/submit.ts';
import { createEstimator, type Estimate } from './estimate.ts';
import type { RequestPublicScan } from './public-scan.ts';
import { createRequestPublicScan } from './request-public-scan.ts';
import { createTurnstile } from './turnstile.ts';

/** What an installation that offers public scans has. */
export interface PublicScanning {
  requestPublicScan: RequestPublicScan;
  estimate: Estimate;
}

/** @returns null if the installation offers no public scans */
export function publicScanningOf(app: FastifyInstance): PublicScanning | null {
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
