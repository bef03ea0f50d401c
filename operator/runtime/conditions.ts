/** Status conditions according to the Kubernetes API conventions. */
import type { Condition, KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { timestamp } from '../../platform/clock.ts';

/** The part of a condition that a controller sets. Transition time and generation are derived. */
export type ConditionUpdate = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export type Conditioned = Pick<KubernetesObject, 'metadata'> & { status?: { conditions?: readonly Condition[] } };

/** `maxLength` of a message in the custom resource definitions. */
const MESSAGE_MAX = 4096;

export const cutMessage = (message: string, max = MESSAGE_MAX): string =>
  message.length > max ? `${message.slice(0, max - 1).toWellFormed()}…` : message;

/** Names the first texts, and the number of the others. */
export const listed = (texts: readonly string[], max: number, separator: string): string =>
  texts.slice(0, max).join(separator) + (texts.length > max ? `${separator}and ${texts.length - max} more` : '');

/** Whether a resource is in the state that its spec asks for, and why not. */
interface Verdict {
  ready: ConditionUpdate['status'];
  reconciling?: boolean;
  stalled?: boolean;
  reason: string;
  message: string;
}

/** The conditions Ready, for users, and Reconciling and Stalled, for kstatus (Flux, `kubectl wait`). */
export function readiness({ ready, reconciling = false, stalled = false, reason, message: whole }: Verdict): ConditionUpdate[] {
  const message = cutMessage(whole);
  const flag = (type: string, value: boolean): ConditionUpdate => ({ type, status: value ? 'True' : 'False', reason, message });
  return [{ type: 'Ready', status: ready, reason, message }, flag('Reconciling', reconciling), flag('Stalled', stalled)];
}

export function conditionOf<T extends { type: string }>(conditions: readonly T[] | undefined, type: string): T | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Returns the object's conditions with `updates` applied, sorted by type. `lastTransitionTime` changes only when `status` does;
 * `observedGeneration` of an updated condition is the object's generation.
 */
export function withConditions(object: Conditioned, updates: readonly ConditionUpdate[], now: Date): Condition[] {
  const before = object.status?.conditions ?? [];
  const kept = before.filter(({ type }) => !updates.some((update) => update.type === type));
  const updated = updates.map((update) => {
    const previous = conditionOf(before, update.type);
    const lastTransitionTime = previous?.status === update.status ? previous.lastTransitionTime : timestamp(now);
    return { ...update, lastTransitionTime, observedGeneration: object.metadata.generation };
  });
  return [...kept, ...updated].toSorted((a, b) => a.type.localeCompare(b.type));
}
