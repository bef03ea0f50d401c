/**
 * Server-side apply, and who has set which field. Only objects that were applied have managed fields here, so that other writes cost
 * nothing. Lists are atomic, as in the definitions that state no other type. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '../status.ts';
import type { Json, JsonObject, KubeObject, ManagedFields } from '../types.ts';

/** The path of a value that is no object, or of an empty object. */
type Path = readonly string[];

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const keyOf = (path: Path): string => JSON.stringify(path);
const at = (value: unknown, path: Path): unknown => path.reduce((part, name) => (isObject(part) ? part[name] : undefined), value);

function leavesOf(value: unknown, path: Path = []): Path[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([name, part]) => (part === undefined ? [] : leavesOf(part, [...path, name])));
}

/** What managers own: everything but what identifies the object, and its status. */
function ownable(object: KubeObject): JsonObject {
  const { metadata, apiVersion: _, kind: __, status: ___, ...content } = object as unknown as JsonObject;
  const { labels, annotations, finalizers, ownerReferences } = (metadata ?? {}) as JsonObject;
  const owned = Object.entries({ labels, annotations, finalizers, ownerReferences }).filter(([, value]) => value !== undefined);
  return { ...content, ...(owned.length > 0 && { metadata: Object.fromEntries(owned) }) };
}

const pathsOf = (object: KubeObject): Path[] => leavesOf(ownable(object)).filter((path) => path.length > 0);

function toFieldsV1(paths: readonly Path[]): JsonObject {
  const root: JsonObject = {};
  for (const path of paths) {
    let part = root;
    for (const name of path) part = (part[`f:${name}`] ??= {}) as JsonObject;
  }
  return root;
}

const fromFieldsV1 = (fields: JsonObject): Path[] =>
  leavesOf(fields).flatMap((path) => (path.length === 0 ? [] : [path.map((name) => name.slice('f:'.length))]));

const owns = ({ fieldsV1 }: ManagedFields, path: Path): boolean => at(fieldsV1, path.map((name) => `f:${name}`)) !== undefined; // prettier-ignore

function without(entry: ManagedFields, paths: readonly Path[]): ManagedFields[] {
  const gone = new Set(paths.map(keyOf));
  const left = fromFieldsV1(entry.fieldsV1).filter((path) => !gone.has(keyOf(path)));
  return left.length === 0 ? [] : [{ ...entry, fieldsV1: toFieldsV1(left) }];
}

const entryOf = (manager: string, operation: ManagedFields['operation'], apiVersion: string, paths: readonly Path[]): ManagedFields[] =>
  paths.length === 0 ? [] : [{ manager, operation, apiVersion, fieldsType: 'FieldsV1', fieldsV1: toFieldsV1(paths) }];

function conflictError(conflicts: readonly { path: Path; entry: ManagedFields }[]): StatusError {
  const found = conflicts.map(({ path, entry: { manager, operation, apiVersion } }) => ({
    who: JSON.stringify(manager) + (operation === 'Update' ? ` using ${apiVersion}` : ''),
    field: path.map((name) => `.${name}`).join(''),
  }));
  const groups = [...new Set(found.map(({ who }) => who))].sort();
  const fieldsOf = (who: string): string[] => found.flatMap((one) => (one.who === who ? [`- ${one.field}`] : []));
  const text =
    found.length === 1
      ? `1 conflict: conflict with ${found[0]!.who}: ${found[0]!.field}`
      : `${found.length} conflicts: ${groups.map((who) => `conflicts with ${who}:\n${fieldsOf(who).join('\n')}`).join('\n')}`;
  const causes = found.map(({ who, field }) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field }));
  return new StatusError(409, 'Conflict', `Apply failed with ${text}`, { causes });
}

function merged(target: Json | undefined, config: Json | undefined): Json | undefined {
  if (!isObject(config) || !isObject(target)) return config;
  return { ...target, ...Object.fromEntries(Object.entries(config).map(([name, value]) => [name, merged(target[name], value)])) };
}

/** Removes a field, and the objects around it that become empty. */
function removed(value: JsonObject, [name, ...below]: Path): JsonObject {
  const { [name!]: part, ...rest } = value;
  if (below.length === 0 || !isObject(part)) return rest;
  const left = removed(part, below);
  return Object.keys(left).length === 0 ? rest : { ...value, [name!]: left };
}

export interface Apply {
  manager: string;
  /** Takes fields over from other managers. */
  force: boolean;
}

/** Applies a configuration. @param stored null: there is no object @throws StatusError 409 if another manager owns a field with another value */
export function applied(
  stored: KubeObject | null,
  config: KubeObject,
  { manager, force }: Apply,
): { object: Json; fields: ManagedFields[] } {
  const paths = pathsOf(config);
  const all = stored?.metadata.managedFields ?? [];
  const isOwn = (entry: ManagedFields): boolean => entry.manager === manager && entry.operation === 'Apply';
  const others = all.filter((entry) => !isOwn(entry));
  const changed = stored === null ? [] : paths.filter((path) => !isDeepStrictEqual(at(config, path), at(stored, path)));
  const conflicts = changed.flatMap((path) => others.filter((entry) => owns(entry, path)).map((entry) => ({ path, entry })));
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  const kept = new Set(paths.map(keyOf));
  const dropped = all.filter(isOwn).flatMap(({ fieldsV1 }) => fromFieldsV1(fieldsV1).filter((path) => !kept.has(keyOf(path))));
  const unowned = dropped.filter((path) => !others.some((entry) => owns(entry, path)));
  const before = unowned.reduce<JsonObject>(removed, (stored ?? {}) as unknown as JsonObject);
  const fields = [...others.flatMap((entry) => without(entry, changed)), ...entryOf(manager, 'Apply', config.apiVersion, paths)];
  return { object: merged(before, config as unknown as Json) ?? null, fields };
}

/** The managed fields after another write; undefined if the object was never applied. */
export function afterUpdate(stored: KubeObject, object: KubeObject, manager = 'unknown'): ManagedFields[] | undefined {
  const all = stored.metadata.managedFields;
  if (all === undefined) return undefined;
  const differs = (path: Path): boolean => !isDeepStrictEqual(at(object, path), at(stored, path));
  const set = pathsOf(object).filter(differs);
  const gone = pathsOf(stored).filter((path) => at(object, path) === undefined);
  if (set.length + gone.length === 0) return all;
  const isOwn = (entry: ManagedFields): boolean => entry.manager === manager && entry.operation === 'Update';
  const own = all.filter(isOwn).flatMap(({ fieldsV1 }) => fromFieldsV1(fieldsV1));
  const left = all.filter((entry) => !isOwn(entry)).flatMap((entry) => without(entry, [...set, ...gone]));
  const lost = new Set(gone.map(keyOf));
  const paths = [...own.filter((path) => !lost.has(keyOf(path))), ...set];
  return [...left, ...entryOf(manager, 'Update', object.apiVersion, paths)];
}
