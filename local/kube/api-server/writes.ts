/** PATCH and DELETE requests. */
import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../../platform/errors.ts';
import type { WriteOptions } from '../registry/admission.ts';
import type { DeleteOptions } from '../registry/deletion.ts';
import { groupVersion } from '../resources/catalogue.ts';
import { badRequest, StatusError, unsupportedMediaType } from '../status.ts';
import type { Json, KubeObject } from '../types.ts';
import { mediaType, readBody } from './bodies/bodies.ts';
import { jsonPatch, mergePatch, strategicPatch } from './bodies/patch.ts';
import { encoded, selector } from './reads.ts';
import type { RequestDeps, ResourceRequest } from './resource-request.ts';

const STRATEGIC = 'application/strategic-merge-patch+json';
/** Server-side apply is rejected: it needs managed fields, which are not stored here. */
const APPLY = 'application/apply-patch+yaml';
const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', STRATEGIC, APPLY];
/** Resources whose DELETE returns the object; others return a `Status`. */
const RETURNED_WHEN_GONE = ['/pods', '/serviceaccounts'];

/** Reads a patch. @returns how it changes an object @throws StatusError 400, 415 */
export async function patched(wanted: ResourceRequest, request: IncomingMessage): Promise<(old: KubeObject) => Json> {
  const type = mediaType(request);
  const { resource } = wanted;
  if (!PATCH_TYPES.includes(type)) throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  if (type === APPLY || (resource.custom && type === STRATEGIC)) {
    throw unsupportedMediaType(resource.custom ? PATCH_TYPES.filter((known) => known !== STRATEGIC) : PATCH_TYPES);
  }
  const text = await readBody(request);
  let patch: Json;
  try {
    patch = JSON.parse(text) as Json;
  } catch (error) {
    throw badRequest(`error decoding patch: ${errorMessage(error)}`);
  }
  return (old) => {
    const target = old as unknown as Json;
    if (type === 'application/json-patch+json') return jsonPatch(target, patch);
    const merged = type === 'application/merge-patch+json' ? mergePatch(target, patch) : strategicPatch(target, patch);
    return merged ?? null;
  };
}

/** Applies a patch. The real server words unknown fields in a patch differently from those in a whole object. */
export function patch(
  { objects }: RequestDeps,
  { resource, namespace, name, subresource }: ResourceRequest,
  change: (old: KubeObject) => Json,
  options: WriteOptions,
): KubeObject {
  let result: Json = null;
  try {
    return objects.update(resource, namespace, name, (old) => (result = change(old)), subresource, options);
  } catch (error) {
    const why = error instanceof StatusError ? /strict decoding error: .*/s.exec(error.message)?.[0] : undefined;
    if (why === undefined) throw error;
    const message = `Invalid value: ${JSON.stringify(JSON.stringify(result))}: ${why}`;
    throw new StatusError(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
      causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }],
    });
  }
}

async function deleteOptions(request: IncomingMessage, query: URLSearchParams, warnings: string[]): Promise<DeleteOptions> {
  const text = await readBody(request);
  let body: DeleteOptions & { dryRun?: unknown } = {};
  try {
    if (text !== '') body = JSON.parse(text) as DeleteOptions;
  } catch {
    throw badRequest('the body of a DELETE is a DeleteOptions object in JSON');
  }
  const grace = query.get('gracePeriodSeconds');
  const dryRun = query.getAll('dryRun').includes('All') || (Array.isArray(body.dryRun) && body.dryRun.includes('All'));
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(query.get('propagationPolicy') === null ? {} : { propagationPolicy: query.get('propagationPolicy') ?? '' }),
    ...body,
    dryRun,
    warnings,
  };
}

/** Deletes a collection. */
export async function removeAll(
  { store, objects }: RequestDeps,
  wanted: ResourceRequest,
  request: IncomingMessage,
  warnings: string[],
): Promise<Json> {
  const { resource, namespace } = wanted;
  const options = await deleteOptions(request, wanted.query, warnings);
  const matches = selector(wanted);
  const chosen = store.list(resource.storage, namespace).filter(matches);
  for (const object of chosen) {
    if (store.get(resource.storage, object.metadata.namespace ?? '', object.metadata.name) !== undefined) {
      objects.remove(resource, object.metadata.namespace ?? '', object.metadata.name, options);
    }
  }
  const items = chosen.map((object) => encoded(resource, object)) as unknown as Json;
  return { kind: resource.listKind, apiVersion: groupVersion(resource), metadata: { resourceVersion: String(store.revision()) }, items };
}

/** Deletes one object. */
export async function remove(
  { objects }: RequestDeps,
  wanted: ResourceRequest,
  request: IncomingMessage,
  warnings: string[],
): Promise<Json> {
  const { resource, namespace, name } = wanted;
  const { object, gone } = objects.remove(resource, namespace, name, await deleteOptions(request, wanted.query, warnings));
  if (!gone || RETURNED_WHEN_GONE.includes(resource.storage)) return encoded(resource, object) as unknown as Json;
  const details = { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
