/** Scans, Jobs and pods in given states, for tests of the pure functions. */
import { POD_IDENTITY_ANNOTATIONS, type PodFailed, type PodProgress, type PodStored } from '../../core/protocol/pod-messages.ts';
import {
  SETTLE_FINALIZER,
  type AccessibilityScan,
  type AccessibilityScanStatus,
  type Condition,
} from '../../core/protocol/custom-resources.ts';
import type { Job, Pod } from '../../operator/scan/kube-types.ts';
import { plan } from '../../operator/scan/policy/plan.ts';
import type { Facts, Timeouts } from '../../operator/scan/policy/facts.ts';
import { newReconcileState, type ReconcileState, type Search } from '../../operator/scan/policy/facts.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import type { PodMessages } from '../../operator/scan/results/pod-message-log.ts';

export const SCAN_ID = '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b';
export const NOW = new Date('2026-03-02T10:00:00Z');
/** The timestamp the given seconds before NOW. */
export const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString().replace('.000Z', 'Z');

export const secondsAgo = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);

export const TIMEOUTS: Timeouts = {
  queueMs: 3_600_000,
  launchMs: 30_000,
  requeueBaseMs: 10_000,
  requeueMaxMs: 120_000,
  roomMs: 120_000,
  pendingMs: 300_000,
  stuckMs: 120_000,
  lostPodMs: 60_000,
  lingerMs: 60_000,
  jobTtlMs: 600_000,
  jobEndGraceMs: 5_000,
  podStateMs: 2_000,
  statusEveryMs: 5_000,
  mirrorEveryMs: 500,
  cancelMs: 60_000,
  resolveMs: 120_000,
  resolveAgainMs: 2_000,
};

export function condition(type: string, status: Condition['status'], reason: string, seconds = 60): Condition {
  return { type, status, reason, message: reason, lastTransitionTime: ago(seconds), observedGeneration: 1 };
}

/** A claimed scan that was created ten minutes ago. */
export function scanWith(status?: AccessibilityScanStatus, rest: { spec?: object; metadata?: object } = {}): AccessibilityScan {
  return {
    apiVersion: 'curbcut.dev/v1',
    kind: 'AccessibilityScan',
    metadata: {
      name: `scan-${SCAN_ID}`,
      namespace: 'curbcut',
      uid: 'scan-uid',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: ago(600),
      finalizers: [SETTLE_FINALIZER],
      ...rest.metadata,
    },
    spec: { url: 'https://example.com/', maxPages: 5, ...rest.spec },
    ...(status && { status: { observedGeneration: 1, ...status } }),
  };
}

/** The status of a scan whose Job was created a minute ago. */
export const launched = (more: AccessibilityScanStatus = {}): AccessibilityScanStatus => ({
  phase: 'queued',
  attempts: 0,
  jobName: `scan-${SCAN_ID}`,
  pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 },
  conditions: [condition('Admitted', 'True', 'Admitted'), condition('Succeeded', 'Unknown', 'Launching')],
  ...more,
});

export function jobWith(ended?: { type: 'Complete' | 'Failed'; reason?: string; seconds?: number }): Job {
  const conditions = ended && [
    { type: 'FailureTarget', status: 'True', reason: ended.reason },
    { type: ended.type, status: 'True', reason: ended.reason, lastTransitionTime: ago(ended.seconds ?? 10) },
  ];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: `scan-${SCAN_ID}`,
      namespace: 'curbcut',
      uid: 'job-uid',
      creationTimestamp: ago(60),
      annotations: { 'curbcut.dev/scanner-image': 'scanner:1' },
    },
    spec: { activeDeadlineSeconds: 1830 },
    status: { conditions },
  };
}

/** The pod of an attempt, created the given seconds ago. */
export function podWith(attempt: number, status: Pod['status'], seconds = 50, metadata: object = {}): Pod {
  const annotations = {
    [POD_IDENTITY_ANNOTATIONS.JOB_COMPLETION_INDEX]: '0',
    [POD_IDENTITY_ANNOTATIONS.JOB_INDEX_FAILURE_COUNT]: String(attempt),
  };
  const name = podName(attempt);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'curbcut', uid: `${name}-uid`, creationTimestamp: ago(seconds), annotations, ...metadata },
    status,
  };
}
export const podName = (attempt: number): string => `pod-${attempt}`;

export const pendingPod = (attempt: number, seconds = 50): Pod =>
  podWith(
    attempt,
    { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' }] },
    seconds,
  );
export const runningPod = (attempt: number, seconds = 50, metadata: object = {}): Pod =>
  podWith(
    attempt,
    { phase: 'Running', containerStatuses: [{ name: 'scanner', image: 'scanner:1', state: { running: {} } }] },
    seconds,
    metadata,
  );
export const endedPod = (attempt: number, exitCode: number, message?: object | string, seconds = 50): Pod =>
  podWith(
    attempt,
    {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [
        {
          name: 'scanner',
          image: 'scanner:1',
          state: {
            terminated: {
              exitCode,
              ...(message !== undefined && { message: typeof message === 'string' ? message : JSON.stringify(message) }),
            },
          },
        },
      ],
    },
    seconds,
  );

const ZERO = { scanned: 0, failed: 0, total: 0 };
export const progress = (attempt: number, more: Partial<PodProgress> = {}): PodProgress => ({
  kind: 'progress',
  scanId: SCAN_ID,
  attempt,
  shard: 0,
  sequence: 1,
  phase: 'scanning',
  pages: ZERO,
  ...more,
});
export const storedBy = (attempt: number): PodStored => ({
  kind: 'stored',
  scanId: SCAN_ID,
  attempt,
  shard: 0,
  pages: { scanned: 2, failed: 0, total: 2 },
  export: { bytes: 10, sha256: 'a'.repeat(64) },
  pdf: { bytes: 10, sha256: 'b'.repeat(64) },
  version: CURBCUT_VERSION,
});
export const failedBy = (attempt: number): PodFailed => ({
  kind: 'failed',
  scanId: SCAN_ID,
  attempt,
  shard: 0,
  reason: 'target_not_html',
  message: 'It is an image.',
  pages: ZERO,
});

/** The messages of pods; the last one arrived at NOW. */
export function messagesOf(more: Partial<PodMessages>): PodMessages {
  return { progress: null, at: NOW, final: [], ...more };
}

/** Marks the results of these attempts as refused. */
export function refusedAttempts(...attempts: number[]): Map<number, string> {
  return new Map(attempts.map((attempt) => [attempt, 'no.']));
}

/** The outcome of a current search that found results of these attempts, each in its own slot. */
export function searched(...attempts: number[]): Search {
  const slotOf = (attempt: number) => ({ attempt, shard: 0 });
  return { at: NOW, found: attempts.map((attempt) => ({ stored: storedBy(attempt), slot: slotOf(attempt) })), pods: [] };
}

/** The facts that a test sets. */
export type FactsSample = Partial<Omit<Facts, 'state'>> & { state?: Partial<ReconcileState> };

/** Facts about a scan, with defaults for everything that the test does not set. */
export function factsOf({ state, ...more }: FactsSample = {}): Facts {
  return {
    scan: scanWith(),
    scanId: SCAN_ID,
    now: NOW,
    job: null,
    scannerImage: 'scanner:1',
    retries: 2,
    pods: [],
    startFailure: null,
    podMessages: { progress: null, at: null, final: [] },
    queuePauses: [],
    busSince: null,
    ...more,
    state: { ...newReconcileState(), ...state },
  };
}

/** Facts about a launched scan whose first pod is running. */
export const runningFacts = (more: FactsSample = {}): Facts =>
  factsOf({ scan: scanWith(launched()), job: jobWith(), pods: [runningPod(0)], ...more });

/** The actions of a plan: the end's reason, else the action's name. */
export const actionsOf = (facts: Facts): string[] =>
  plan(facts, TIMEOUTS).actions.map((action) => (action.do === 'end' ? action.end.reason : action.do));
