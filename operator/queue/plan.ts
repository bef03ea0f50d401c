/** Plans the writes of one queue: a pure function from its scans and its ScanQueue to a list of actions. */
import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, isBuiltInQueue, scanIdOf, type AccessibilityScan, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { WaitingLine } from '../../stores/submissions/queue-state.ts';
import { dueIn } from '../../platform/clock.ts';
import { conditionOf } from '../runtime/conditions.ts';
import type { Plan } from '../runtime/controller.ts';
import { queueNotAllowed, queueNotFound, type WaitReason } from '../scan/policy/condition-reasons.ts';
import { QUEUED, QUEUE_PAUSED } from '../scan/policy/status.ts';
import { type AdmissionFacts, decideAdmission, type QueueDecision, type QueueLoad, waitingOrder } from './admission.ts';
import { backOffMs, organisationOf, scansInReach } from './waiting.ts';
import { limitsOf, type Places } from './places.ts';
import { statusChange, type QueueStatus, type StatusFacts } from './status.ts';

export interface QueueFacts extends AdmissionFacts, StatusFacts {
  name: string;
  namespace: string;
  /** Whether the built-in queue was paused when it last existed. Used only while it does not exist. */
  pausedBefore: boolean;
  /** What this operator last mirrored of the waiting scans, null if nothing, and when it last compared it. */
  line: { mirrored: WaitingLine | null; at: Date | null };
  statusAt: Date | null;
}

export type QueueAction =
  /** Let scans that are being vetted take the places that are left. */
  | { do: 'open'; places: Places }
  /** Create a built-in ScanQueue, so that it can be paused. Deleting a paused one does not resume it. */
  | { do: 'create'; queue: ScanQueue }
  | { do: 'admit'; scan: AccessibilityScan; pods: number }
  | { do: 'explainWait'; scan: AccessibilityScan; why: WaitReason }
  /** Mirror the waiting scans, if they changed, to the read model, where the API reads their positions. */
  | { do: 'mirrorLine'; line: WaitingLine; changed: boolean }
  | { do: 'writeStatus'; queue: ScanQueue; status: QueueStatus }
  | { do: 'measure'; load: QueueLoad }
  /** The queue does not exist and no scan names it. */
  | { do: 'forget' };

/** The minimum time between two writes of the ScanQueue's status, however many scans come and go. */
const STATUS_EVERY_MS = 1_000;
/** The maximum number of explanations per plan, so that thousands of them do not delay admission. */
const EXPLANATIONS_MAX = 50;
const MORE_AFTER_MS = 200;
/** The minimum time between two computations of the waiting order. */
const LINE_EVERY_MS = 5_000;
/** The number of positions that the API can show per queue. */
const POSITIONS_MAX = 1_000;

export function planQueue(facts: QueueFacts): Plan<QueueAction> {
  const { name, queue, now, everyMs, scans } = facts;
  if (queue === null && !isBuiltInQueue(name) && scans.length === 0) return { actions: [{ do: 'forget' }], wakeAfterMs: null };
  const current = queue ?? (isBuiltInQueue(name) ? newQueue(facts) : null);
  const decision = decideAdmission({ ...facts, scans: scansInReach(scans, facts.unreadable, now), queue: current });
  const actions: QueueAction[] = [{ do: 'open', places: decision.places }];
  const wakes = [everyMs, ...decision.backingOff.map((scan) => backOffMs(scan, now)).filter((left) => left > 0)];
  if (queue === null && current !== null) actions.push({ do: 'create', queue: current });
  for (const scan of decision.admit) actions.push({ do: 'admit', scan, pods: decision.pods.get(scan.metadata.uid!) ?? 1 });
  const explanations = unexplained(decision, whyWaiting(current, facts), facts);
  actions.push(...explanations.slice(0, EXPLANATIONS_MAX));
  if (explanations.length > EXPLANATIONS_MAX) wakes.push(MORE_AFTER_MS);
  const status = queue && statusChange(queue, decision, facts);
  if (queue !== null && status !== null) {
    const left = dueIn(facts.statusAt, STATUS_EVERY_MS, now);
    if (left > 0) wakes.push(left);
    else actions.push({ do: 'writeStatus', queue, status });
  }
  actions.push({ do: 'measure', load: decision });
  if (facts.line.mirrored?.waiting !== 0 || (current !== null && decision.queued > 0)) {
    const left = dueIn(facts.line.at, LINE_EVERY_MS, now);
    if (left > 0) wakes.push(left);
    else actions.push(mirrorLine(decision, current, facts));
  }
  return { actions, wakeAfterMs: Math.min(...wakes) };
}

function newQueue({ name, namespace, pausedBefore }: QueueFacts): ScanQueue {
  // No more than that, because the creator owns the fields, and an author's server-side apply of another value would conflict.
  const spec = pausedBefore ? { paused: true } : {};
  return { apiVersion: API_VERSION, kind: 'ScanQueue', metadata: { name, namespace }, spec };
}

function whyWaiting(queue: ScanQueue | null, { name, namespace }: QueueFacts): WaitReason {
  if (queue === null) return queueNotFound(name, namespace);
  return queue.spec.paused === true ? QUEUE_PAUSED : QUEUED;
}

/** A waiting scan's status has the reason, but not its position: each scan that leaves would change all of them. */
function unexplained({ lines, refused }: QueueDecision, why: WaitReason, { name, isLeftOut }: QueueFacts): QueueAction[] {
  const waiting = [...lines.values()].flatMap((line) => line.rest().map((scan) => ({ scan, why })));
  const refusals = refused
    .filter((scan) => !isLeftOut(scan))
    .map((scan) => ({ scan, why: queueNotAllowed(name, scan.metadata.namespace!, organisationOf(scan)) }));
  return [...waiting, ...refusals]
    .filter(({ scan, why: { reason } }) => conditionOf(scan.status?.conditions, 'Admitted')?.reason !== reason)
    .map((wait) => ({ do: 'explainWait', ...wait }));
}

/** Without a ScanQueue nothing is known about the order. Consumes the lines. */
function mirrorLine({ queued, lines, places, shares }: QueueDecision, queue: ScanQueue | null, facts: QueueFacts): QueueAction {
  let line: WaitingLine = { waiting: 0, order: [] };
  if (queue !== null && queued > 0) {
    const { maxRunning } = limitsOf(queue, facts.defaultMaxRunning);
    const order = waitingOrder({ lines, places, shares }, POSITIONS_MAX);
    line = { waiting: queued, order: order.map((scan) => scanIdOf(scan, facts.namespace)), maxRunning };
  }
  return { do: 'mirrorLine', line, changed: !isDeepStrictEqual(line, facts.line.mirrored) };
}
