/** The input and the output of a scan's plan. */
import type { AccessibilityScan, QueuePause } from '../../../core/protocol/custom-resources.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import type { Phase } from '../../../core/scan/phases.ts';
import type { Job, Pod } from '../kube-types.ts';
import type { AnnouncedResult, ReconcileState } from '../reconcile-state.ts';
import type { PodMessages } from '../results/pod-message-log.ts';
import type { EndReason, WaitReason } from './condition-reasons.ts';
import type { StatusPatch, VerifiedResult } from './status.ts';

/** The time limit of each state, in milliseconds. */
export interface Timeouts {
  /** The time for which a scan may wait for its admission, without the pauses of its queue. */
  queueMs: number;
  /** From the scan's admission to its Job, while each attempt to create it fails. */
  launchMs: number;
  /** The first and the longest wait of a scan that went back into its queue. */
  requeueBaseMs: number;
  requeueMaxMs: number;
  /** From a pod's creation to its start, and from the Job's creation to its pod. */
  pendingMs: number;
  /** From one message of a pod to the next. */
  stuckMs: number;
  /** From the end of a deleted pod's grace period until its node is considered lost. */
  lostPodMs: number;
  /** From the end of a completed scan to the deletion of its Job, so that the pod can exit by itself. */
  lingerMs: number;
  /** From the end of a finished Job to its deletion, so that its log can be read. */
  jobTtlMs: number;
  /** From the end of a Job without results until the scan fails, because the pod's status arrives by another watch. */
  jobEndGraceMs: number;
  /** From one write of the status to the next, if only the pod's state differs, so that a pod that starts soon needs none. */
  podStateMs: number;
  /** Between two writes of page counts to the status. */
  statusEveryMs: number;
  /** Between two writes of page counts to the read model. */
  mirrorEveryMs: number;
  /** How long a canceled scan waits for its pods from the first attempt to stop them, and then for an object store that is down. */
  cancelMs: number;
  /** From the first query that no name server answered to the end of the scan, and between two of them. */
  resolveMs: number;
  resolveAgainMs: number;
}

/** The input of the plan. */
export interface Facts {
  scan: AccessibilityScan;
  scanId: string;
  now: Date;
  /** Null only if the Job does not exist: the gatherer asks the API server if the status names one. */
  job: Job | null;
  /** The scanner image of the Jobs that this operator creates. */
  scannerImage: string;
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
  /** Run the preflight checks and queue the scan. End it if no name server has answered for `resolveMs`. */
  | { do: 'vet'; resolveMs: number }
  /** Reserve the credits of an admitted manifest. */
  | { do: 'reserve' }
  /** Decide which scan this one is compared with. */
  | { do: 'chooseBaseline' }
  /** Create the Job and its Secret. */
  | { do: 'launch' }
  /** Give the scan's place back, because its credits cannot be reserved or its Job cannot be created. */
  | { do: 'requeue'; why: WaitReason; status: StatusPatch }
  | { do: 'observe'; status: StatusPatch }
  /** State in the status that a change of the spec was seen, such as another TTL. */
  | { do: 'observeGeneration' }
  | { do: 'mirror'; phase: Phase; pages: PageProgress }
  /** Start to look for results and pods that no message and no watch has reported. */
  | { do: 'search' }
  /** Start to verify a pod's results. */
  | { do: 'ingest'; result: AnnouncedResult }
  /** Report that results cannot be read. */
  | { do: 'reportOutage' }
  /** Write the outcome of verified results. */
  | { do: 'complete'; result: VerifiedResult }
  /** Record that the Job is replaced by a new one. */
  | { do: 'replaceJob'; why: WaitReason }
  /** State in the status that the pod of a canceled scan is stopped. */
  | { do: 'markCanceling' }
  /** Stop the pods of a canceled scan: each has its grace period to store the pages that it has tested. */
  | { do: 'stopPods' }
  /** End the scan without a result. */
  | { do: 'end'; end: EndReason }
  /** Mark a pod on a lost node as failed, so that the Job controller replaces it. */
  | { do: 'failLostPod'; pod: Pod }
  | { do: 'removeJob' }
  /** Settle credits, and mirror and publish the end. `end` is an end that the status does not state, because the resource is being deleted. */
  | { do: 'finish'; end?: EndReason }
  /** Remove the finalizer. */
  | { do: 'release' }
  /** Delete the resource. */
  | { do: 'expire' };

export interface Plan {
  actions: Action[];
  /** The delay until the next plan if no event arrives, in milliseconds; null waits for an event. */
  wakeAfterMs: number | null;
}

export const act = (...actions: Action[]): Plan => ({ actions, wakeAfterMs: null });
export const end = (why: EndReason): Plan => act({ do: 'end', end: why });
