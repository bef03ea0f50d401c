/** The input and the output of a scan's plan, and its time limits. */
import type { AccessibilityScan, QueuePause } from '../../../core/protocol/custom-resources.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import type { Phase } from '../../../core/scan/phases.ts';
import type { Job, Pod } from '../kube-types.ts';
import type { PodMessages } from '../results/pod-message-log.ts';
import type { PodIdentity, PodStored } from '../../../core/protocol/pod-messages.ts';
import type { Plan as Planned, States } from '../../runtime/controller.ts';
import type { EndReason, Requeue, WaitReason } from './condition-reasons.ts';
import type { StatusPatch, VerifiedResult } from './status.ts';
/** The pod of a canceled scan has this long to store the pages that it has tested. Every other pod ends within seconds. */
export const STOP_SECONDS = 45;
/** A canceled scan ends this long after its pod was told to stop, with a report or without one. Later than the pod, so that its report can be verified. */
export const CANCEL_SECONDS = STOP_SECONDS + 15;

/** The time limits of states that are no settings, in milliseconds. */
const TIMEOUTS = {
  /** From the scan's admission to its Job, while each attempt to create it fails. */
  launchMs: 30_000,
  /** The first and the longest wait of a scan that went back into its queue. */
  requeueBaseMs: 10_000,
  requeueMaxMs: 120_000,
  /** From the creation of a pod until its scan gives the place back, while no node has room. Time for a new node. */
  roomMs: 120_000,
  /** From the end of a deleted pod's grace period until its node is considered lost. */
  lostPodMs: 60_000,
  /** From the end of a completed scan to the deletion of its Job, so that the pod can exit by itself. */
  lingerMs: 60_000,
  /** From the end of a Job without results until the scan fails, because the pod's status arrives by another watch. */
  jobEndGraceMs: 5_000,
  /** From one write of the status to the next, if only the pod's state differs, so that a pod that starts soon needs none. */
  podStateMs: 2_000,
  /** Between two writes of page counts to the status, and to the read model. */
  statusEveryMs: 5_000,
  mirrorEveryMs: 500,
  /** How long a canceled scan waits for its pods from the first attempt to stop them, and then for an object store that is down. */
  cancelMs: CANCEL_SECONDS * 1000,
  /** From the first query that no name server answered to the end of the scan, and between two of them. */
  resolveMs: 120_000,
  resolveAgainMs: 2_000,
};

export type Timeouts = typeof TIMEOUTS & {
  /** The time for which a scan may wait for its admission, without the pauses of its queue. */
  queueMs: number;
  /** From a pod's creation to its start, while the cluster has a place for it. */
  pendingMs: number;
  /** From one message of a pod to the next. */
  stuckMs: number;
  /** From the end of a finished Job to its deletion, so that its log can be read. */
  jobTtlMs: number;
};

export const timeoutsOf = (settings: Omit<Timeouts, keyof typeof TIMEOUTS> & Partial<Timeouts>): Timeouts => ({ ...TIMEOUTS, ...settings });

export interface Facts {
  scan: AccessibilityScan;
  scanId: string;
  now: Date;
  /** Null only if the Job does not exist: the gatherer asks the API server if the status names one. */
  job: Job | null;
  scannerImage: string;
  /** The crashes after which the scanner is started again. */
  retries: number;
  /** The Job's pods, ordered by attempt. */
  pods: readonly Pod[];
  /** The message of the latest Event that says why the Job has no pod, or why its newest pod does not start. */
  startFailure: string | null;
  podMessages: PodMessages;
  /** The pauses of the scan's queue, which are no waiting time. Null while they are unknown. */
  queuePauses: readonly QueuePause[] | null;
  /** The start of the current bus connection; null while disconnected. */
  busSince: Date | null;
  state: Readonly<ReconcileState>;
}

export type Action =
  /** Add the finalizer, and the label of the organisation that is charged. */
  | { do: 'claim' }
  /** Start to run the preflight checks, which queue the scan or end it. */
  | { do: 'vet' }
  | { do: 'reserve' }
  | { do: 'chooseBaseline' }
  | { do: 'launch' }
  /** Give the scan's place back, because of a condition of the cluster. Its Job is removed while it waits. */
  | { do: 'requeue'; why: Requeue; status: StatusPatch }
  | { do: 'observe'; status: StatusPatch }
  /** State in the status that a change of the spec was seen, such as another TTL. */
  | { do: 'observeGeneration' }
  | { do: 'mirror'; row: MirroredRow }
  /** Start to look for results and pods that no message and no watch has reported. */
  | { do: 'search' }
  | { do: 'ingest'; result: AnnouncedResult }
  | { do: 'reportOutage' }
  | { do: 'complete'; result: VerifiedResult }
  | { do: 'replaceJob'; why: WaitReason }
  /** State in the status that the pod of a canceled scan is stopped. */
  | { do: 'markCanceling' }
  /** Stop the pods of a canceled scan: each has its grace period to store the pages that it has tested. */
  | { do: 'stopPods' }
  | { do: 'end'; end: EndReason }
  /** Mark a pod on a lost node as failed, so that the Job controller replaces it. */
  | { do: 'failLostPod'; pod: Pod }
  | { do: 'removeJob' }
  /** Settle credits, and mirror and publish the end. `end` is an end that the status does not state, because the resource is being deleted. */
  | { do: 'finish'; end?: EndReason }
  | { do: 'release' }
  | { do: 'expire' };

export type Plan = Planned<Action>;

export const act = (...actions: Action[]): Plan => ({ actions, wakeAfterMs: null });
export const end = (why: EndReason): Plan => act({ do: 'end', end: why });

/** In-memory state per live scan. Losing it, as after a restart, causes extra work but no wrong results. */
export interface ReconcileState {
  /** Whether the preflight checks have been started and have not ended. */
  vetting: boolean;
  /** Since when, and when last, no name server answered for the scan's URL; null if its last vetting resolved it. */
  unresolved: { since: Date; at: Date } | null;
  /** The attempts to reserve credits or to create the Job that failed since the admission, and the last problem; null if none has. */
  launchFailure: (Requeue & { count: number }) | null;
  /** Whether this process created the Job. The status names the Job only with the next change. */
  launched: boolean;
  /** Whether this process has stopped the pods of the canceled scan. */
  podsStopped: boolean;
  /** The time since which the Job has had no live pod. */
  noPodSince: Date | null;
  /** The reasons why results were refused, by attempt. */
  refused: Map<number, string>;
  /** The work on results that has been started and has not ended; null if no work is in progress. */
  task: ResultTask | null;
  /** The time since which the task fails because a dependency is down; null if it does not. */
  outageSince: Date | null;
  /** The verified results, until they are in the status. A conflict of writes must not download and verify them again. */
  verified: VerifiedResult | null;
  /** The last search for results that no message announced; null before the first one. */
  search: Search | null;
  /** The last write to the read model; null before the first write. */
  mirrored: MirroredRow | null;
  mirroredAt: Date | null;
  statusAt: Date | null;
}

/** What the row of a live scan says of it. `message`: what it waits for. */
export interface MirroredRow {
  phase: Phase;
  pages: PageProgress;
  message: string | null;
}

/** Results that a pod announced, or that were found. `slot` is absent if they are in the slot of the pod. */
export interface AnnouncedResult {
  stored: PodStored;
  slot?: PodIdentity;
}

/** Work on the results of a scan, which is slow and therefore not done by the workers of scans. */
export type ResultTask =
  { do: 'search'; job: Job | null; slots: readonly PodIdentity[] } | { do: 'verify'; stored: PodStored; slot: PodIdentity };

/** A result that a pod has stored, with the upload slot that holds the objects. */
export type FoundResult = Required<AnnouncedResult>;

export interface Search {
  at: Date;
  /** The results that pods have stored, latest attempt last. */
  found: readonly FoundResult[];
  /** The Job's pods on the API server, because a watch may be silent for minutes before it is restarted. */
  pods: readonly Pod[];
}

export type ReconcileStates = States<ReconcileState>;

export function newReconcileState(): ReconcileState {
  return {
    vetting: false,
    unresolved: null,
    launchFailure: null,
    launched: false,
    podsStopped: false,
    noPodSince: null,
    refused: new Map(),
    task: null,
    outageSince: null,
    verified: null,
    search: null,
    mirrored: null,
    mirroredAt: null,
    statusAt: null,
  };
}

export interface RunTime {
  /** Time from the creation of the Job to the running pod, in seconds. */
  pendingDeadlineSeconds: number;
  /** Time that does not depend on the pages (start, crawl, reports), in seconds. */
  baseSeconds: number;
  maxSeconds: number;
  workers: number;
  pageBudgetMs: number;
}

/** The pod may still store its results this long after its deadline, so that a scan survives 15 minutes without the object store. */
export const UPLOAD_GRACE_SECONDS = 1200;
/** The Job's deadline is this much later than the pod's, so that the pod can store its results, end by itself and report it. */
export const JOB_MARGIN_SECONDS = UPLOAD_GRACE_SECONDS + 30;
/** The operator's deadline is this much later than the Job's, so that a Job that never finishes does not block the queue. */
export const OPERATOR_MARGIN_SECONDS = 30;

/** Seconds from the creation of the Job to the pod's deadline: enough for every page to use the budget of an ordinary one. */
export function secondsToRun(pages: number, time: RunTime): number {
  const forPages = Math.ceil((pages * time.pageBudgetMs) / 1000 / time.workers);
  return time.pendingDeadlineSeconds + Math.min(time.maxSeconds, time.baseSeconds + forPages);
}

/** Seconds from the creation of the Job to the pod's deadline, according to the deadline of the Job. */
export function secondsGiven(activeDeadlineSeconds: number | undefined): number {
  return Math.max(1, (activeDeadlineSeconds ?? 0) - JOB_MARGIN_SECONDS);
}

/** The number of pages with reserved credits, which the pod may test. */
export function reservedPages(scan: AccessibilityScan): number {
  return scan.status?.pages?.reserved ?? 0;
}
