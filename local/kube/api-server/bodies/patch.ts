/** The supported patches: JSON Patch, JSON Merge Patch and, for built-in kinds, strategic merge. */
import { isDeepStrictEqual } from 'node:util';
import { badRequest, StatusError } from '../../status.ts';
import type { Json, JsonObject, Schema } from '../../types.ts';

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

/** Strategic merge: as a merge patch, but lists with a merge key, and sets, are merged item by item. */
export function strategicPatch(target: Json | undefined, patch: Json | undefined, schema: Schema | undefined): Json | undefined {
  if (!isObject(patch)) return patch;
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  const result: JsonObject = isObject(target) ? { ...target } : {};
  const retained = patch['$retainKeys'];
  if (Array.isArray(retained)) for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key];
  for (const [key, value] of Object.entries(patch)) {
    const deleted = /^\$deleteFromPrimitiveList\/(.+)$/.exec(key)?.[1];
    if (deleted !== undefined) {
      const gone = value as Json[];
      result[deleted] = (Array.isArray(result[deleted]) ? result[deleted] : []).filter((item) => !gone.includes(item));
    } else if (key.startsWith('$')) continue;
    else if (value === null) delete result[key];
    else if (isObject(value) && value['$patch'] === 'delete') delete result[key];
    else {
      const below =
        schema?.properties?.[key] ?? (typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined);
      result[key] = Array.isArray(value)
        ? mergedList(result[key], value, below, patch[`$setElementOrder/${key}`])
        : strategicPatch(result[key], value, below);
    }
  }
  return result;
}

function withoutDirectives(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => withoutDirectives(item) ?? null);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key, item]) => !key.startsWith('$') && item !== null);
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutDirectives(item)]));
}

/** The identity of a list item: the value of its merge key, or the item itself. */
const identity = (item: Json | undefined, key: string | undefined): string =>
  JSON.stringify(key !== undefined && isObject(item) ? (item[key] ?? null) : (item ?? null));

function mergedList(target: Json | undefined, patch: Json[], schema: Schema | undefined, wantedOrder: Json | undefined): Json {
  const merges = schema?.['x-kubernetes-patch-strategy']?.includes('merge') === true;
  const key = schema?.['x-kubernetes-patch-merge-key'];
  const replaces = (item: Json): boolean => isObject(item) && item['$patch'] === 'replace';
  if (!merges || patch.some(replaces)) return withoutDirectives(patch.filter((item) => !replaces(item))) ?? [];
  const before = Array.isArray(target) ? target : [];
  const list = [...before];
  for (const item of patch) {
    const index = list.findIndex((other) => identity(other, key) === identity(item, key));
    if (isObject(item) && item['$patch'] === 'delete') {
      if (index !== -1) list.splice(index, 1);
    } else if (index === -1) list.push(withoutDirectives(item) ?? null);
    else list[index] = strategicPatch(list[index], item, schema?.items) ?? null;
  }
  return ordered(list, before, Array.isArray(wantedOrder) ? wantedOrder : patch, key);
}

/** Orders items as the patch does; other items keep their place among them, and new items come first. */
function ordered(list: Json[], before: Json[], wanted: Json[], key: string | undefined): Json[] {
  const place = new Map(before.map((item, index) => [identity(item, key), index]));
  const byId = new Map(list.map((item) => [identity(item, key), item]));
  const right = wanted.map((item) => identity(item, key)).filter((id) => byId.has(id));
  const left = [...byId.keys()].filter((id) => !right.includes(id));
  const result: string[] = [];
  while (left.length > 0 && right.length > 0) {
    const at = place.get(right[0] ?? '');
    const isNext = at === undefined || at < (place.get(left[0] ?? '') ?? 0);
    result.push((isNext ? right : left).shift() ?? '');
  }
  return [...result, ...left, ...right].map((id) => byId.get(id) ?? null);
}
