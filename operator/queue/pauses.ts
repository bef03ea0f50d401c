/**
 * How long a scan has waited, without the time for which its queue was paused. The status of the ScanQueue holds the pauses, so
 * that they outlive the operator. Pure.
 */
import type { AccessibilityScan, QueuePause } from '../../core/protocol/custom-resources.ts';
import { timestamp } from '../../platform/clock.ts';

/** `maxItems` in the custom resource definition. */
export const PAUSES_MAX = 20;

/** Returns the pauses after the queue was seen paused or not. The two oldest become one if there are too many: no scan ends too early. */
export function pausesAfter(pauses: readonly QueuePause[], paused: boolean, now: Date): QueuePause[] {
  const last = pauses.at(-1);
  const isOpen = last !== undefined && last.endTime === undefined;
  if (paused === isOpen) return [...pauses];
  if (!paused) return pauses.with(-1, { ...last!, endTime: timestamp(now) });
  const all = [...pauses, { startTime: timestamp(now) }];
  return all.length <= PAUSES_MAX ? all : [{ ...all[1]!, startTime: all[0]!.startTime }, ...all.slice(2)];
}

/** The time for which a scan has waited since its creation, in milliseconds. */
export function waitedMs({ metadata }: Pick<AccessibilityScan, 'metadata'>, pauses: readonly QueuePause[], now: Date): number {
  const created = Date.parse(metadata.creationTimestamp!);
  const paused = pauses.reduce((sum, { startTime, endTime }) => {
    const end = Math.min(endTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(endTime), now.getTime());
    return sum + Math.max(0, end - Math.max(Date.parse(startTime), created));
  }, 0);
  return Math.max(0, now.getTime() - created - paused);
}
