/** Merge patches of a status. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { MergePatch } from './resource-client.ts';

/** Returns the merge patch that turns `before` into `after`; null if they are equal. */
export function mergePatch<T extends object>(before: T, after: T): MergePatch<T> | null {
  const patch = patchOf(before as Record<string, unknown>, after as Record<string, unknown>);
  return Object.keys(patch).length === 0 ? null : (patch as MergePatch<T>);
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function patchOf(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (isDeepStrictEqual(old, value)) continue;
    patch[name] = isRecord(old) && isRecord(value) ? patchOf(old, value) : value;
  }
  return patch;
}
