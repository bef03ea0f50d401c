/** PATCH and DELETE requests. */
import type { IncomingMessage } from 'node:http';
import { errorMessage } from '../../../platform/errors.ts';
import type { WriteOptions } from '../registry/admission.ts';
import type { DeleteOptions } from '../registry/deletion.ts';
import { parse as parseYaml } from 'yaml';
import { badRequest, invalid, requiredValue, StatusError, unsupportedMediaType } from '../status.ts';
import type { Json, KubeObject } from '../types.ts';
import { mediaType, readBody } from './bodies/bodies.ts';
import { mergePatch, strategicPatch } from './bodies/patch.ts';
import { flag } from './reads.ts';
import type { RequestDeps, ResourceRequest } from './resource-request.ts';

const STRATEGIC = 'application/strategic-merge-patch+json';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

/** Server-side apply, which the embedded Kubernetes does for custom resources. */
export const isApply = ({ resource, subresource }: ResourceRequest, request: IncomingMessage): boolean =>
  resource.custom && subresource === '' && mediaType(request) === APPLY;

/** Reads a patch. @returns how it changes an object @throws StatusError 400, 415 */
export async function patched({ resource }: ResourceRequest, request: IncomingMessage): Promise<(old: KubeObject) => Json> {
  const type = mediaType(request);
  // Not JSON Patch.
  const supported = resource.custom ? [MERGE, APPLY] : [MERGE, STRATEGIC];
  if (!supported.includes(type) || type === APPLY) throw unsupportedMediaType(supported);
  const text = await readBody(request);
  let patch: Json;
  try {
    patch = JSON.parse(text) as Json;
  } catch (error) {
    throw badRequest(`error decoding patch: ${errorMessage(error)}`);
  }
  const merge = type === MERGE ? mergePatch : strategicPatch;
  return (old) => merge(old as unknown as Json, patch) ?? null;
}

/** Applies a configuration in YAML or JSON. @throws StatusError 400, 409, 422 */
export async function apply(
  { objects }: RequestDeps,
  { resource, namespace, name, query }: ResourceRequest,
  request: IncomingMessage,
  options: WriteOptions,
): Promise<{ object: KubeObject; created: boolean }> {
  const manager = query.get('fieldManager') ?? '';
  if (manager === '') {
    const of = { group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' };
    throw invalid(of, '', [requiredValue('fieldManager', 'is required for apply patch')]);
  }
  let config: Json;
  try {
    config = parseYaml(await readBody(request)) as Json;
  } catch (error) {
    throw badRequest(`error decoding YAML: ${errorMessage(error)}`);
  }
  return objects.apply(resource, namespace, name, config, { manager, force: flag(query.get('force')) }, options);
}

/** Changes an object by a patch. The real server words unknown fields in a patch differently from those in a whole object. */
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

async function deleteOptions(request: IncomingMessage, query: URLSearchParams): Promise<DeleteOptions> {
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
  };
}

/** Deletes one object. */
export async function remove({ objects }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage): Promise<Json> {
  const { resource, namespace, name } = wanted;
  const { object, gone } = objects.remove(resource, namespace, name, await deleteOptions(request, wanted.query));
  // The DELETE of a pod returns the pod, all others a `Status`.
  if (!gone || resource.storage === '/pods') return object as unknown as Json;
  const details = { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
