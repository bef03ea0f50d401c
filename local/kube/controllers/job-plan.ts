/** Plans the next changes of a Job from the Job, its pods and the time. Pure. The order of the rules is the real Job controller's. */
import { timestamp } from '../printing/durations.ts';
import { countsAfter, failureCounts, finishedAt, indexStatus, isIndexed, newestFailed, type FailureCounts } from './indexed-jobs.ts';
import type { Job, JobCondition, JobStatus, Pod, PodFailureRule } from '../workload-types.ts';

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
  /** How many pods to create. */
  create: number;
  /** For an Indexed Job: the earlier failures, for the annotations of the new pod. */
  counts?: FailureCounts;
  events: JobEvent[];
  /** When to sync the Job again without a change, in ms since the epoch. */
  wakeAt?: number;
  /** The Job's time to live is over: it must be deleted. */
  expired?: boolean;
}

/** The number of successive pod failures, and the time of the last one in ms since the epoch. The back-off depends on both. */
export interface Failures {
  inARow: number;
  lastAt: number;
}

export const hasFinalizer = (pod: Pod): boolean => pod.metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
const isEnded = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';
const isActive = (pod: Pod): boolean => !isEnded(pod) && pod.metadata.deletionTimestamp === undefined;
const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

/** Whether a Job counts and replaces a pod only after all its containers have ended. */
const waitsForEnd = ({ spec }: Job): boolean => spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined;

function hasFailed(pod: Pod, job: Job): boolean {
  if (pod.status.phase === 'Failed') return true;
  return !waitsForEnd(job) && pod.metadata.deletionTimestamp !== undefined && pod.status.phase !== 'Succeeded';
}

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

/** The delay before a pod is replaced. It doubles with each successive failure. */
export const backoffMs = (failures: Failures, baseMs: number): number => Math.min(baseMs * 2 ** (failures.inARow - 1), baseMs * 60);

const NOTHING = { release: [], end: [], create: 0, events: [] } as const;

function planFinished(job: Job, pods: readonly Pod[], now: Date): JobPlan {
  const plan: JobPlan = { ...NOTHING, status: job.status, release: pods.filter(hasFinalizer), end: [], events: [] };
  const ttl = job.spec.ttlSecondsAfterFinished;
  const end = conditionOf(job.status, 'Complete') ?? conditionOf(job.status, 'Failed');
  if (ttl === undefined || end === undefined || job.metadata.deletionTimestamp !== undefined) return plan;
  const wakeAt = Date.parse(end.lastTransitionTime) + ttl * 1000;
  return now.getTime() >= wakeAt ? { ...plan, expired: true } : { ...plan, wakeAt };
}

interface Counted {
  succeeded: number;
  failed: number;
  release: Pod[];
  failMessage: string;
  /** Whether the index of an Indexed Job has reached its back-off limit. */
  indexFailed: boolean;
}

const isIgnored = (pod: Pod, { spec }: Job): boolean => policyVerdict(pod, spec.podFailurePolicy?.rules ?? []).action === 'Ignore';

/** Adds the pods that ended since the last sync to the Job's counts. */
function count(job: Job, pods: readonly Pod[]): Counted {
  const rules = job.spec.podFailurePolicy?.rules;
  const { succeeded = 0, failed = 0 } = job.status;
  const counted: Counted = { succeeded, failed, release: [], failMessage: '', indexFailed: false };
  for (const pod of pods.filter(hasFinalizer)) {
    if (pod.status.phase === 'Succeeded') counted.succeeded += 1;
    else if (hasFailed(pod, job)) {
      const verdict = rules === undefined ? { action: 'Count', message: '' } : policyVerdict(pod, rules);
      if (verdict.action !== 'Ignore') {
        counted.failed += 1;
        counted.indexFailed ||= isIndexed(job) && failureCounts(pod).failed >= (job.spec.backoffLimitPerIndex ?? 0);
      }
      if (verdict.action === 'FailJob' && counted.failMessage === '') counted.failMessage = verdict.message;
    } else continue;
    counted.release.push(pod);
  }
  return counted;
}

/** The condition that ends the Job now, if any. */
function ending(job: Job, counted: Counted, now: Date): { type: string; reason: string; message: string } | undefined {
  const { spec, status } = job;
  const met = conditionOf(status, 'SuccessCriteriaMet') ?? conditionOf(status, 'FailureTarget');
  if (met !== undefined) return met;
  if (counted.failMessage !== '') return { type: 'FailureTarget', reason: 'PodFailurePolicy', message: counted.failMessage };
  if (counted.failed > (spec.backoffLimit ?? 6)) {
    return { type: 'FailureTarget', reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  const deadline = deadlineOf(job);
  if (deadline !== undefined && spec.suspend !== true && now.getTime() >= deadline) {
    return { type: 'FailureTarget', reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  }
  if (counted.indexFailed) return { type: 'FailureTarget', reason: 'FailedIndexes', message: 'Job has failed indexes' };
  return undefined;
}

function deadlineOf({ spec, status }: Job): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined) return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/**
 * The failed pod of an Indexed Job that the next pod replaces. It is counted after the replacement exists, because the
 * replacement's annotations are computed from its own.
 */
function replacedNext(job: Job, pods: readonly Pod[]): Pod | undefined {
  if (!isIndexed(job) || pods.some(isActive)) return undefined;
  return newestFailed(pods.filter((pod) => hasFinalizer(pod) && hasFailed(pod, job)));
}

const deletedEvent = (pod: Pod): JobEvent => ({ type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${pod.metadata.name}` });

/** The successive failures of an index before its next pod. */
function rowOf(replaced: Pod | undefined): Failures {
  if (replaced === undefined) return { inARow: 0, lastAt: 0 };
  const { failed, ignored } = failureCounts(replaced);
  return { inARow: failed + ignored + 1, lastAt: finishedAt(replaced) };
}

/**
 * Plans the next changes of a Job.
 * @param pods the pods that it controls
 * @param backoffBaseMs the delay after the first failure (10 s in a real cluster)
 */
export function planJob(job: Job, pods: readonly Pod[], failures: Failures, now: Date, backoffBaseMs: number): JobPlan {
  if (isFinished(job)) return planFinished(job, pods, now);
  if (job.metadata.deletionTimestamp !== undefined)
    return { ...NOTHING, status: job.status, release: pods.filter(hasFinalizer), end: [], events: [] };
  const { spec } = job;
  const suspended = spec.suspend === true;
  const events: JobEvent[] = [];
  const started: Job =
    job.status.startTime === undefined && !suspended ? { ...job, status: { ...job.status, startTime: timestamp(now) } } : job;
  let counted = count(started, pods);
  const active = pods.filter(isActive);
  let conditions: JobCondition[] = [...(job.status.conditions ?? [])];
  let { startTime, completionTime } = started.status;
  let end: Pod[] = [];
  let create = 0;
  let wakeAt = deadlineOf(started);
  let remaining = active;

  let target = ending(started, counted, now);
  const wanted = spec.completions;
  const done = wanted === undefined ? counted.succeeded > 0 && active.length === 0 : counted.succeeded >= wanted;
  if (target === undefined && done)
    target = { type: 'SuccessCriteriaMet', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };

  const { indexFailed } = counted;
  const replaced = target === undefined ? replacedNext(started, pods) : undefined;
  if (replaced !== undefined) counted = count(started, pods.filter((pod) => pod !== replaced)); // prettier-ignore
  let { release } = counted;

  if (target !== undefined) {
    wakeAt = undefined;
    end = active;
    remaining = [];
    events.push(...end.map(deletedEvent));
    if (!conditions.some((condition) => condition.type === target.type))
      conditions = withCondition(conditions, target.type, 'True', target.reason, target.message, now);
    const isStopped = !pods.some((pod) => !isEnded(pod));
    if (isStopped) {
      const failed = target.type === 'FailureTarget';
      conditions = withCondition(conditions, failed ? 'Failed' : 'Complete', 'True', target.reason, target.message, now);
      if (!failed) completionTime = timestamp(now);
      events.push(
        failed
          ? { type: 'Warning', reason: target.reason, message: target.message }
          : { type: 'Normal', reason: 'Completed', message: 'Job completed' },
      );
    }
  } else if (suspended) {
    wakeAt = undefined;
    if (conditionOf(job.status, 'Suspended') === undefined) {
      conditions = withCondition(conditions, 'Suspended', 'True', 'JobSuspended', 'Job suspended', now);
      events.push({ type: 'Normal', reason: 'Suspended', message: 'Job suspended' });
    }
    startTime = undefined;
    end = active;
    remaining = [];
    release = [...release, ...active.filter(hasFinalizer)];
    events.push(...end.map(deletedEvent));
  } else {
    if (conditionOf(job.status, 'Suspended') !== undefined) {
      conditions = withCondition(conditions, 'Suspended', 'False', 'JobResumed', 'Job resumed', now);
      events.push({ type: 'Normal', reason: 'Resumed', message: 'Job resumed' });
    }
    const parallelism = spec.parallelism ?? 1;
    const terminating = waitsForEnd(job) ? pods.filter((pod) => !isEnded(pod) && !isActive(pod)).length : 0;
    const target =
      wanted === undefined ? (counted.succeeded > 0 ? active.length : parallelism) : Math.min(parallelism, wanted - counted.succeeded);
    const missing = target - active.length - terminating;
    const row = isIndexed(job) ? rowOf(replaced) : failures;
    const heldUntil = row.inARow === 0 ? 0 : row.lastAt + backoffMs(row, backoffBaseMs);
    if (missing > 0 && now.getTime() < heldUntil) wakeAt = Math.min(heldUntil, wakeAt ?? heldUntil);
    else if (missing > 0) create = missing;
    else if (active.length > target) {
      end = active.slice(target);
      remaining = active.slice(0, target);
      events.push(...end.map(deletedEvent));
    }
  }

  const terminating = pods.filter((pod) => !isEnded(pod) && !isActive(pod)).length;
  const activeCount = remaining.length + create;
  const status: JobStatus = {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(completionTime === undefined ? {} : { completionTime }),
    ...(activeCount === 0 ? {} : { active: activeCount }),
    ...(counted.succeeded === 0 ? {} : { succeeded: counted.succeeded }),
    ...(counted.failed === 0 ? {} : { failed: counted.failed }),
    terminating,
    uncountedTerminatedPods: {},
    ...(isIndexed(job) && indexStatus(job, counted.succeeded > 0, indexFailed)),
    ready: remaining.filter(isReady).length,
  };
  const counts = isIndexed(job) ? countsAfter(replaced, (pod) => isIgnored(pod, job)) : undefined;
  return { status, release, end, create, events, ...(counts && { counts }), ...(wakeAt === undefined ? {} : { wakeAt }) };
}
