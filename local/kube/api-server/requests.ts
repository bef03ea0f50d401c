/** Dispatches a request on a resource to its verb. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse as parseYaml } from 'yaml';
import {
  badRequest,
  forbidden,
  internalError,
  invalid,
  methodNotAllowed,
  noSuchResource,
  notFound,
  requiredValue,
  StatusError,
  unsupportedMediaType,
} from '../status.ts';
import type { Json, JsonObject, KubeObject, Resource } from '../types.ts';
import { table, wantsTable } from '../printing/tables.ts';
import { groupVersion } from '../resources/builtins.ts';
import { errorMessage } from '../../../platform/errors.ts';
import type { WriteOptions } from '../registry/admission.ts';
import type { DeleteOptions, Registry } from '../registry/registry.ts';
import type { Store } from '../store.ts';
import { mediaType, mergePatch, readBody, readObject, strategicPatch } from './bodies.ts';
import { fieldSelector, labelSelector, type Matches, streamWatch } from './watch.ts';

/** A request on a resource, and its answer. A request whose path named a resource. */
export interface ResourceRequest {
  resource: Resource;
  namespace: string;
  /** Empty for the collection. */
  name: string;
  subresource: string;
  query: URLSearchParams;
}

export interface Answer {
  code: number;
  body: Json;
  warnings: string[];
}

interface RequestDeps {
  store: Store;
  objects: Registry;
  now: () => Date;
}

/** PATCH and DELETE requests. */
const STRATEGIC = 'application/strategic-merge-patch+json';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

/** Server-side apply, which the embedded Kubernetes does for custom resources. */
const isApply = ({ resource, subresource }: ResourceRequest, request: IncomingMessage): boolean =>
  resource.custom && subresource === '' && mediaType(request) === APPLY;

/** Reads a patch. @returns how it changes an object @throws StatusError 400, 415 */
async function patched({ resource }: ResourceRequest, request: IncomingMessage): Promise<(old: KubeObject) => Json> {
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
async function apply(
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
function patch(
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
async function remove({ objects }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage): Promise<Json> {
  const { resource, namespace, name } = wanted;
  const { object, gone } = objects.remove(resource, namespace, name, await deleteOptions(request, wanted.query));
  // The DELETE of a pod returns the pod, all others a `Status`.
  if (!gone || resource.storage === '/pods') return object as unknown as Json;
  const details = { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

/** GET requests: single objects, lists and watches. */
const DEFAULT_WATCH_MS = 40 * 60_000;

/** A boolean query parameter as the real server reads it. */
export const flag = (value: string | null): boolean => value !== null && value !== '' && value !== '0' && value.toLowerCase() !== 'false';

/** An object, or its table if the client asked for one. */
function present({ now }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage, object: KubeObject): Json {
  const { resource, query } = wanted;
  if (!wantsTable(request.headers.accept ?? '')) return object as unknown as Json;
  return table(resource, [object], { resourceVersion: object.metadata.resourceVersion }, query.get('includeObject') ?? 'Metadata', now());
}

/** Combines the name and the label and field selectors. @throws StatusError 400 */
function selector({ resource, query, name }: ResourceRequest): Matches {
  const labels = labelSelector(query.get('labelSelector') ?? '');
  const fields = fieldSelector(query.get('fieldSelector') ?? '', resource);
  return (object) => (name === '' || object.metadata.name === name) && labels(object) && fields(object);
}

/** The whole collection: a server may return more than the `limit` of a client. @throws StatusError 400 */
function list({ store, now }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage): Json {
  const { resource, namespace, query } = wanted;
  const found = store.list(resource.storage, namespace).filter(selector(wanted));
  const metadata: JsonObject = { resourceVersion: String(store.revision()) };
  if (wantsTable(request.headers.accept ?? '')) return table(resource, found, metadata, query.get('includeObject') ?? 'Metadata', now());
  const items = found.map((object) => {
    if (resource.custom) return object;
    const { kind: _kind, apiVersion: _version, ...rest } = object;
    return rest;
  });
  return { kind: resource.listKind, apiVersion: groupVersion(resource), metadata, items: items as unknown as Json };
}

/** Starts a watch. @returns how to stop it @throws StatusError 400, 410 */
function watch({ store, now }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): () => void {
  const { resource, query } = wanted;
  const resourceVersion = query.get('resourceVersion') ?? '';
  if (!/^\d*$/.test(resourceVersion))
    throw badRequest(`Invalid value: "${resourceVersion}": strconv.ParseUint: parsing "${resourceVersion}": invalid syntax`);
  const asTable = wantsTable(request.headers.accept ?? '');
  let first = true;
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  return streamWatch(
    store,
    {
      resource,
      namespace: wanted.namespace,
      matches: selector(wanted),
      resourceVersion,
      bookmarks: flag(query.get('allowWatchBookmarks')),
      sendInitialEvents: flag(query.get('sendInitialEvents')),
      timeoutMs: seconds > 0 ? seconds * 1000 : DEFAULT_WATCH_MS,
      present(object) {
        if (!asTable) return object as unknown as Json;
        const shownTable = table(
          resource,
          [object],
          { resourceVersion: object.metadata.resourceVersion },
          query.get('includeObject') ?? 'Metadata',
          now(),
          first,
        );
        first = false;
        return shownTable;
      },
    },
    response,
  );
}

/** What tests break, as a real cluster breaks it. May be changed at any time. */
export interface Faults {
  /** Rights that RBAC does not grant. A subresource is part of the resource, such as `accessibilityscans/status`. */
  denied: { verb: string; resource: string; namespace: string }[];
  /** An admission webhook for the writes in one namespace that never answers. */
  hangingWebhook: { name: string; namespace: string; timeoutMs: number } | null;
}

/** The service account that RBAC's sentence names. */
const USER = 'system:serviceaccount:curbcut:curbcut-operator';

/** @throws StatusError 403 if the right is denied */
function authorise({ denied }: Faults, verb: string, { resource, namespace, name, subresource }: ResourceRequest): void {
  const plural = subresource === '' ? resource.plural : `${resource.plural}/${subresource}`;
  if (!denied.some((right) => right.verb === verb && right.resource === plural && right.namespace === namespace)) return;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  throw forbidden(resource, name, `User "${USER}" cannot ${verb} resource "${plural}" in API group "${resource.group}" ${where}`);
}

/** Waits for the webhook until its timeout. @throws StatusError 500 */
async function admit({ hangingWebhook: webhook }: Faults, verb: string, namespace: string, signal: AbortSignal): Promise<void> {
  if (webhook?.namespace !== namespace || ['get', 'list', 'watch'].includes(verb)) return;
  const { name, timeoutMs } = webhook;
  await sleep(timeoutMs, undefined, { signal });
  const call = `Post "https://${name}/?timeout=${timeoutMs / 1000}s": context deadline exceeded`;
  throw internalError(`failed calling webhook "${name}": failed to call webhook: ${call}`);
}

export interface Requests {
  faults: Faults;
  /** @returns the answer; null if it is a stream, which goes on @throws StatusError */
  serve(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<Answer | null>;
  /** Ends every watch. */
  close(): void;
}

/** The verb of a request. @throws StatusError 404, 405 if the resource does not have it */
function verbOf({ resource, name, subresource, query }: ResourceRequest, method: string | undefined): string {
  if (subresource !== '' && !(subresource === 'status' && resource.statusSubresource))
    throw resource.custom ? notFound(resource, name) : noSuchResource();
  if (method === 'GET') return flag(query.get('watch')) ? 'watch' : name === '' ? 'list' : 'get';
  const onCollection: Record<string, string> = { POST: 'create' };
  const onObject: Record<string, string> = { PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  const verb = (name === '' ? onCollection : onObject)[method ?? ''];
  if (verb === undefined || !resource.verbs.includes(verb)) throw methodNotAllowed();
  if (subresource !== '' && !['patch', 'update'].includes(verb)) throw methodNotAllowed();
  return verb;
}

export function openRequests(deps: RequestDeps): Requests {
  const { objects } = deps;
  const watches = new Set<() => void>();
  const faults: Faults = { denied: [], hangingWebhook: null };
  const closing = new AbortController();

  function startWatch(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): null {
    const stop = watch(deps, wanted, request, response);
    watches.add(stop);
    response.on('close', () => watches.delete(stop));
    return null;
  }

  async function serve(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<Answer | null> {
    const { resource, namespace, name, subresource, query } = wanted;
    const warnings: string[] = [];
    const options = {
      fieldValidation: query.get('fieldValidation') ?? 'Warn',
      dryRun: query.getAll('dryRun').includes('All'),
      fieldManager: query.get('fieldManager') ?? undefined,
      warnings,
    };
    const answer = (body: Json, code = 200): Answer => ({ code, body, warnings });
    const verb = verbOf(wanted, request.method);
    authorise(faults, verb, wanted);
    await admit(faults, verb, namespace, closing.signal);
    switch (verb) {
      case 'watch':
        return startWatch(wanted, request, response);
      case 'list':
        return answer(list(deps, wanted, request));
      case 'get':
        return answer(present(deps, wanted, request, objects.get(resource, namespace, name)));
      case 'create': {
        const body = await readObject(request, resource);
        return answer(present(deps, wanted, request, objects.create(resource, namespace, body, options)), 201);
      }
      case 'update': {
        const body = await readObject(request, resource);
        const object = objects.update(resource, namespace, name, () => body, subresource, options);
        return answer(present(deps, wanted, request, object));
      }
      case 'patch': {
        if (isApply(wanted, request)) {
          const { object, created } = await apply(deps, wanted, request, options);
          return answer(present(deps, wanted, request, object), created ? 201 : 200);
        }
        const change = await patched(wanted, request);
        return answer(present(deps, wanted, request, patch(deps, wanted, change, options)));
      }
      default:
        return answer(await remove(deps, wanted, request));
    }
  }

  return {
    faults,
    serve,
    close() {
      closing.abort();
      for (const stop of [...watches]) stop();
    },
  };
}
