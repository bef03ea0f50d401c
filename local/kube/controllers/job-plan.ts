/** Plans the next changes of a Job from the Job, its pods and the time. Pure. The order of the rules is the real Job controller's. */
import { timestamp } from '../../../platform/clock.ts';
import { countsAfter, failureCounts, finishedAt, indexStatus, newestFailed, type FailureCounts } from './indexed-jobs.ts';
import type { Job, JobCondition, JobStatus, Pod, PodFailureRule } from '../types.ts';

export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';

export interface JobEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export interface JobPlan {
  status: JobStatus;
  /** Pods that are counted now or do not count: their tracking finalizer is removed. */
  release: Pod[];
  /** Pods to delete. */
  end: Pod[];
  /** The earlier failures, for the annotations of the pod to create; null if none is to be created. */
  create: FailureCounts | null;
  events: JobEvent[];
  /** When to sync the Job again without a change, in ms since the epoch. */
  wakeAt?: number;
}

export const hasFinalizer = (pod: Pod): boolean => pod.metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
const isEnded = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';
const isActive = (pod: Pod): boolean => !isEnded(pod) && pod.metadata.deletionTimestamp === undefined;
const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

/** The action of the first rule that matches a failed pod, and the message of the Job's condition if the Job fails by it. */
export function policyVerdict(pod: Pod, rules: readonly PodFailureRule[]): { action: PodFailureRule['action']; message: string } {
  for (const [index, rule] of rules.entries()) {
    const because = `matching ${rule.action} rule at index ${index}`;
    const named = `${pod.metadata.namespace}/${pod.metadata.name}`;
    if (rule.onExitCodes !== undefined) {
      const { containerName, operator, values } = rule.onExitCodes;
      const met = pod.status.containerStatuses?.find(({ name, state }) => {
        const code = state.terminated?.exitCode ?? 0;
        return code !== 0 && (containerName === undefined || containerName === name) && values.includes(code) === (operator === 'In');
      });
      if (met !== undefined) {
        return {
          action: rule.action,
          message: `Container ${met.name} for pod ${named} failed with exit code ${met.state.terminated?.exitCode} ${because}`,
        };
      }
    }
    for (const pattern of rule.onPodConditions ?? []) {
      const met = pod.status.conditions?.some(
        (condition) => condition.type === pattern.type && condition.status === (pattern.status ?? 'True'),
      );
      if (met === true) return { action: rule.action, message: `Pod ${named} has condition ${pattern.type} ${because}` };
    }
  }
  return { action: 'Count', message: '' };
}

const conditionOf = (status: JobStatus, type: string): JobCondition | undefined =>
  status.conditions?.find((condition) => condition.type === type && condition.status === 'True');

/** Whether a Job is Complete or Failed. */
export const isFinished = ({ status }: Job): boolean =>
  conditionOf(status, 'Complete') !== undefined || conditionOf(status, 'Failed') !== undefined;

function withCondition(
  conditions: readonly JobCondition[],
  type: string,
  truth: 'True' | 'False',
  reason: string,
  message: string,
  now: Date,
): JobCondition[] {
  const at = timestamp(now);
  const next = { type, status: truth, lastProbeTime: at, lastTransitionTime: at, reason, message };
  const index = conditions.findIndex((condition) => condition.type === type);
  return index === -1 ? [...conditions, next] : conditions.with(index, next);
}

/** The delay before a pod is replaced. It doubles with each failure. */
const backoffMs = (failures: number, baseMs: number): number => Math.min(baseMs * 2 ** (failures - 1), baseMs * 60);

interface Counted {
  succeeded: number;
  failed: number;
  release: Pod[];
  failMessage: string;
  /** Whether the index has reached its back-off limit. */
  indexFailed: boolean;
}

const rulesOf = ({ spec }: Job): readonly PodFailureRule[] => spec.podFailurePolicy?.rules ?? [];

/** Adds the pods that ended since the last sync to the Job's counts. */
function count(job: Job, pods: readonly Pod[]): Counted {
  const { succeeded = 0, failed = 0 } = job.status;
  const counted: Counted = { succeeded, failed, release: [], failMessage: '', indexFailed: false };
  for (const pod of pods.filter(hasFinalizer).filter(isEnded)) {
    counted.release.push(pod);
    if (pod.status.phase === 'Succeeded') {
      counted.succeeded += 1;
      continue;
    }
    const { action, message } = policyVerdict(pod, rulesOf(job));
    if (action !== 'Ignore') {
      counted.failed += 1;
      counted.indexFailed ||= failureCounts(pod).failed >= (job.spec.backoffLimitPerIndex ?? 0);
    }
    if (action === 'FailJob' && counted.failMessage === '') counted.failMessage = message;
  }
  return counted;
}

/** The condition that ends the Job now, if any. */
function endOf(job: Job, counted: Counted, now: Date): { type: string; reason: string; message: string } | undefined {
  const met = conditionOf(job.status, 'SuccessCriteriaMet') ?? conditionOf(job.status, 'FailureTarget');
  if (met !== undefined) return met;
  const fails = (reason: string, message: string) => ({ type: 'FailureTarget', reason, message });
  if (counted.failMessage !== '') return fails('PodFailurePolicy', counted.failMessage);
  if (now.getTime() >= deadlineOf(job)) return fails('DeadlineExceeded', 'Job was active longer than specified deadline');
  if (counted.indexFailed) return fails('FailedIndexes', 'Job has failed indexes');
  if (counted.succeeded === 0) return undefined;
  return { type: 'SuccessCriteriaMet', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };
}

function deadlineOf({ spec, status }: Job): number {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined || spec.suspend === true) return Infinity;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/**
 * Plans the next changes of a Job.
 * @param pods the pods that it controls
 * @param backoffBaseMs the delay after the first failure (10 s in a real cluster)
 */
export function planJob(job: Job, pods: readonly Pod[], now: Date, backoffBaseMs: number): JobPlan {
  if (isFinished(job) || job.metadata.deletionTimestamp !== undefined)
    return { status: job.status, release: pods.filter(hasFinalizer), end: [], create: null, events: [] };
  const isSuspended = job.spec.suspend === true;
  if (isSuspended && job.status.startTime === undefined) return planSuspended(job, now);
  const started: Job = { ...job, status: { ...job.status, startTime: job.status.startTime ?? timestamp(now) } };
  const counted = count(started, pods);
  const end = endOf(started, counted, now);
  if (end !== undefined) return planEnd(started, pods, counted, end, now);
  return isSuspended ? planStopped(started, pods, counted, now) : planNextPod(started, pods, now, backoffBaseMs);
}

/** The operator suspends the Job of a canceled scan: its pods end, and none follows. */
function planStopped(job: Job, pods: readonly Pod[], counted: Counted, now: Date): JobPlan {
  const end = pods.filter(isActive);
  const isNew = conditionOf(job.status, 'Suspended') === undefined;
  const conditions = [...(job.status.conditions ?? [])];
  const status = statusOf(job, pods, counted, {
    conditions: isNew ? withCondition(conditions, 'Suspended', 'True', 'JobSuspended', 'Job suspended', now) : conditions,
    running: [],
    active: 0,
  });
  const events: JobEvent[] = isNew ? [{ type: 'Normal', reason: 'Suspended', message: 'Job suspended' }] : [];
  return { status, release: counted.release, end, create: null, events: [...deletionsOf(end), ...events] };
}

const deletionsOf = (pods: readonly Pod[]): JobEvent[] =>
  pods.map((pod) => ({ type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${pod.metadata.name}` }));

/** The operator creates each Job suspended, and resumes it once. */
function planSuspended({ status }: Job, now: Date): JobPlan {
  if (conditionOf(status, 'Suspended') !== undefined) return { status, release: [], end: [], create: null, events: [] };
  const conditions = withCondition([], 'Suspended', 'True', 'JobSuspended', 'Job suspended', now);
  const events: JobEvent[] = [{ type: 'Normal', reason: 'Suspended', message: 'Job suspended' }];
  const suspended: JobStatus = { conditions, terminating: 0, uncountedTerminatedPods: {}, failedIndexes: '', ready: 0 };
  return { status: suspended, release: [], end: [], create: null, events };
}

/** Ends the Job: its pods first, then the Job. */
function planEnd(
  job: Job,
  pods: readonly Pod[],
  counted: Counted,
  { type, reason, message }: { type: string; reason: string; message: string },
  now: Date,
): JobPlan {
  const end = pods.filter(isActive);
  const events = deletionsOf(end);
  let conditions: JobCondition[] = [...(job.status.conditions ?? [])];
  if (!conditions.some((condition) => condition.type === type)) conditions = withCondition(conditions, type, 'True', reason, message, now);
  const hasFailed = type === 'FailureTarget';
  const isStopped = pods.every(isEnded);
  if (isStopped) {
    conditions = withCondition(conditions, hasFailed ? 'Failed' : 'Complete', 'True', reason, message, now);
    events.push(hasFailed ? { type: 'Warning', reason, message } : { type: 'Normal', reason: 'Completed', message: 'Job completed' });
  }
  const completionTime = isStopped && !hasFailed ? timestamp(now) : undefined;
  const status = statusOf(job, pods, counted, { conditions, completionTime, running: [], active: 0 });
  return { status, release: counted.release, end, create: null, events };
}

/** Creates the pod that the Job lacks, after the back-off. */
function planNextPod(job: Job, pods: readonly Pod[], now: Date, backoffBaseMs: number): JobPlan {
  const running = pods.filter(isActive);
  // It is counted after its replacement exists, because the replacement's annotations are computed from its own.
  const replaced = running.length > 0 ? undefined : newestFailed(pods.filter((pod) => hasFinalizer(pod) && pod.status.phase === 'Failed'));
  const counted = count(
    job,
    pods.filter((pod) => pod !== replaced),
  );
  const counts = countsAfter(replaced, (pod) => policyVerdict(pod, rulesOf(job)).action === 'Ignore');
  const heldUntil = replaced === undefined ? 0 : finishedAt(replaced) + backoffMs(counts.failed + counts.ignored, backoffBaseMs);
  const isDue = now.getTime() >= heldUntil;
  const create = pods.every(isEnded) && isDue ? counts : null;
  const events: JobEvent[] = [];
  let conditions: JobCondition[] = [...(job.status.conditions ?? [])];
  if (conditionOf(job.status, 'Suspended') !== undefined) {
    conditions = withCondition(conditions, 'Suspended', 'False', 'JobResumed', 'Job resumed', now);
    events.push({ type: 'Normal', reason: 'Resumed', message: 'Job resumed' });
  }
  const status = statusOf(job, pods, counted, { conditions, running, active: running.length + (create === null ? 0 : 1) });
  const wakeAt = Math.min(deadlineOf(job), isDue ? Infinity : heldUntil);
  return { status, release: counted.release, end: [], create, events, ...(wakeAt !== Infinity && { wakeAt }) };
}

function statusOf(
  job: Job,
  pods: readonly Pod[],
  { succeeded, failed, indexFailed }: Counted,
  given: { conditions: JobCondition[]; completionTime?: string; running: readonly Pod[]; active: number },
): JobStatus {
  const { conditions, completionTime, running, active } = given;
  return {
    ...(conditions.length > 0 && { conditions }),
    startTime: job.status.startTime,
    ...(completionTime !== undefined && { completionTime }),
    ...(active > 0 && { active }),
    ...(succeeded > 0 && { succeeded }),
    ...(failed > 0 && { failed }),
    terminating: pods.filter((pod) => !isEnded(pod) && !isActive(pod)).length,
    uncountedTerminatedPods: {},
    ...indexStatus(job, succeeded > 0, indexFailed),
    ready: running.filter(isReady).length,
  };
}
