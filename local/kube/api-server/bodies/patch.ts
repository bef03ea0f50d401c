/** The supported patches: JSON Patch, JSON Merge Patch and, for built-in kinds, strategic merge. */
import { isDeepStrictEqual } from 'node:util';
import { badRequest, StatusError } from '../../status.ts';
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

/** The real server does not report why a JSON Patch failed. */
const rejected = (): StatusError => new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

const segments = (pointer: string): string[] => {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw rejected();
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));
};

function read(document: Json, pointer: string): Json {
  let value: Json | undefined = document;
  for (const part of segments(pointer)) value = Array.isArray(value) ? value[Number(part)] : isObject(value) ? value[part] : undefined;
  if (value === undefined) throw rejected();
  return value;
}

function change(document: Json, pointer: string, edit: (parent: Json[] | JsonObject, key: string) => void): void {
  const parts = segments(pointer);
  const key = parts.pop();
  if (key === undefined) throw rejected();
  const parent = read(document, parts.map((part) => `/${part.replace(/~/g, '~0').replace(/\//g, '~1')}`).join(''));
  if (!Array.isArray(parent) && !isObject(parent)) throw rejected();
  edit(parent, key);
}

function position(list: Json[], key: string, end: number): number {
  const index = key === '-' ? list.length : Number(key);
  if (!Number.isInteger(index) || index < 0 || index > end) throw rejected();
  return index;
}

const add = (document: Json, path: string, value: Json): void =>
  change(document, path, (parent, key) => {
    if (Array.isArray(parent)) parent.splice(position(parent, key, parent.length), 0, value);
    else parent[key] = value;
  });

const remove = (document: Json, path: string): void =>
  change(document, path, (parent, key) => {
    if (Array.isArray(parent)) parent.splice(position(parent, key, parent.length - 1), 1);
    else if (parent[key] === undefined) throw rejected();
    else delete parent[key];
  });

/** RFC 6902. @throws StatusError 400 if it is not a patch, 422 if it cannot be applied */
export function jsonPatch(target: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  const document = structuredClone(target);
  for (const item of patch as unknown as Operation[]) {
    switch (item.op) {
      case 'add':
        add(document, item.path, structuredClone(item.value ?? null));
        break;
      case 'remove':
        remove(document, item.path);
        break;
      case 'replace':
        read(document, item.path);
        change(document, item.path, (parent, key) => {
          if (Array.isArray(parent)) parent[position(parent, key, parent.length - 1)] = structuredClone(item.value ?? null);
          else parent[key] = structuredClone(item.value ?? null);
        });
        break;
      case 'move': {
        const value = read(document, item.from ?? '');
        remove(document, item.from ?? '');
        add(document, item.path, value);
        break;
      }
      case 'copy':
        add(document, item.path, structuredClone(read(document, item.from ?? '')));
        break;
      case 'test':
        if (!isDeepStrictEqual(read(document, item.path), item.value ?? null)) throw rejected();
        break;
      default:
        throw rejected();
    }
  }
  return document;
}

/**
 * Strategic merge, which `kubectl apply` sends for built-in kinds: as a merge patch, without lists. To merge them, the server
 * would have to know their keys. @throws StatusError 422 for a list of objects or a directive
 */
export function strategicPatch(target: Json, patch: Json): Json | undefined {
  if (hasLists(patch))
    throw new StatusError(422, 'Invalid', 'the embedded Kubernetes does not merge lists: use a merge patch or a JSON Patch', {});
  return mergePatch(target, patch);
}

const hasLists = (patch: Json | undefined): boolean =>
  Array.isArray(patch) || (isObject(patch) && Object.entries(patch).some(([key, value]) => key.startsWith('$') || hasLists(value)));
