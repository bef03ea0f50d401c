/**
 * A limit without a counter. Each document has one of a fixed number of slots, and a unique index gives a slot to one document.
 * Therefore requests at the same time cannot exceed the limit.
 */
import { randomInt } from 'node:crypto';

/** The slots that are not taken, from a random one on, so that requests at the same time rarely choose the same one. */
export function freeSlots(owner: string, max: number, taken: readonly (string | undefined)[]): string[] {
  const used = new Set(taken);
  const free = Array.from({ length: max }, (_, at) => `${owner}/${at}`).filter((slot) => !used.has(slot));
  const from = free.length === 0 ? 0 : randomInt(free.length);
  return [...free.slice(from), ...free.slice(0, from)];
}
