/** Status conditions according to the Kubernetes API conventions. */
import type { Condition, KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { timestamp } from '../../platform/clock.ts';

/** The part of a condition that a controller sets. Transition time and generation are derived. */
export type ConditionUpdate = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export type Conditioned = Pick<KubernetesObject, 'metadata'> & { status?: { conditions?: readonly Condition[] } };

/** Finds a condition by its type. The order of conditions has no meaning. */
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
