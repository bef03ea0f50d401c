/** The supported patches: JSON Merge Patch and, for built-in kinds, strategic merge. */
import { StatusError } from '../../status.ts';
import type { Json, JsonObject } from '../../types.ts';

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7386. */
export function mergePatch(target: Json | undefined, patch: Json | undefined): Json | undefined {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/**
 * Strategic merge, which `kubectl apply` sends for built-in kinds: as a merge patch, without lists. To merge them, the server
 * would have to know their keys. @throws StatusError 422 for a list of objects or a directive
 */
export function strategicPatch(target: Json, patch: Json): Json | undefined {
  if (hasLists(patch)) throw new StatusError(422, 'Invalid', 'the embedded Kubernetes does not merge lists: use a merge patch', {});
  return mergePatch(target, patch);
}

const hasLists = (patch: Json | undefined): boolean =>
  Array.isArray(patch) || (isObject(patch) && Object.entries(patch).some(([key, value]) => key.startsWith('$') || hasLists(value)));
