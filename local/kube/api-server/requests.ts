/** From one HTTP request on a resource to a verb, and its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseYaml } from 'yaml';
import { groupVersion } from '../resources/catalogue.ts';
import { pageOf } from './paging.ts';
import { decodeProtobuf } from './protobuf.ts';
import { mergePatch, jsonPatch, strategicPatch } from './patch.ts';
import { fieldSelector, labelSelector, type Matches } from './selectors.ts';
import { badRequest, methodNotAllowed, noSuchResource, notFound, StatusError, unsupportedMediaType } from '../status.ts';
import type { WriteOptions } from '../registry/admission.ts';
import { table, wantsTable } from '../printing/tables.ts';
import { streamWatch } from './watch.ts';
import type { DeleteOptions } from '../registry/deletion.ts';
import type { Objects } from '../registry/registry.ts';
import type { Store } from '../storage/store.ts';
import type { Json, JsonObject, KubeObject, Resource } from '../types.ts';

/** A request whose path named a resource. */
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

const STRATEGIC = 'application/strategic-merge-patch+json';
/** Server-side apply is refused: it needs managed fields, and nothing here keeps them. */
const APPLY = 'application/apply-patch+yaml';
const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', STRATEGIC, APPLY];
/** Kinds whose DELETE answers with the object, where others answer with a `Status`. */
const RETURNED_WHEN_GONE = ['/pods', '/serviceaccounts'];
const MAX_BODY_BYTES = 3 * 1024 * 1024;
const DEFAULT_WATCH_MS = 40 * 60_000;

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const readBody = async (request: IncomingMessage): Promise<string> => (await readBytes(request)).toString('utf8');

const mediaType = (request: IncomingMessage): string => (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';

/** A body as JSON. @throws StatusError 400, 415 */
async function readObject(request: IncomingMessage, resource: Resource): Promise<Json> {
  const type = mediaType(request);
  const bytes = await readBytes(request);
  const unsupported = unsupportedMediaType(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);
  if (type === 'application/vnd.kubernetes.protobuf') {
    const object = decodeProtobuf(bytes);
    if (object === null) throw unsupported;
    return object;
  }
  if (!['', 'application/json', 'application/yaml'].includes(type)) throw unsupported;
  const text = bytes.toString('utf8');
  try {
    return (type === 'application/yaml' ? parseYaml(text) : JSON.parse(text)) as Json;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error: ${why}`,
    );
  }
}

const flag = (value: string | null): boolean => value !== null && value !== '' && value !== '0' && value.toLowerCase() !== 'false';

export interface Requests {
  /** Answers; null where the answer is a stream that goes on. @throws StatusError */
  serve(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<Answer | null>;
  /** Ends every watch. */
  close(): void;
}

export function openRequests(store: Store, objects: Objects, now: () => Date): Requests {
  const watches = new Set<() => void>();

  const shown = (resource: Resource, object: KubeObject): KubeObject => resource.encode?.(object) ?? object;

  function present(wanted: ResourceRequest, request: IncomingMessage, object: KubeObject): Json {
    const { resource, query } = wanted;
    if (!wantsTable(request.headers.accept ?? '')) return shown(resource, object) as unknown as Json;
    return table(resource, [object], { resourceVersion: object.metadata.resourceVersion }, query.get('includeObject') ?? 'Metadata', now());
  }

  function selector({ resource, query, name }: ResourceRequest): Matches {
    const labels = labelSelector(query.get('labelSelector') ?? '');
    const fields = fieldSelector(query.get('fieldSelector') ?? '', resource);
    return (object) => (name === '' || object.metadata.name === name) && labels(object) && fields(object);
  }

  function list(wanted: ResourceRequest, request: IncomingMessage): Json {
    const { resource, query } = wanted;
    const page = pageOf(store, wanted, selector(wanted));
    const metadata: JsonObject = { resourceVersion: String(page.revision) };
    if (page.continue !== '' || resource.custom) metadata['continue'] = page.continue;
    if (page.remaining !== undefined) metadata['remainingItemCount'] = page.remaining;
    if (wantsTable(request.headers.accept ?? ''))
      return table(resource, page.items, metadata, query.get('includeObject') ?? 'Metadata', now());
    const items = page.items.map((item) => {
      const object = shown(resource, item);
      if (resource.custom) return object;
      const { kind: _kind, apiVersion: _version, ...rest } = object;
      return rest;
    });
    return { kind: resource.listKind, apiVersion: groupVersion(resource), metadata, items: items as unknown as Json };
  }

  function watch(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): null {
    const { resource, query } = wanted;
    const resourceVersion = query.get('resourceVersion') ?? '';
    if (!/^\d*$/.test(resourceVersion))
      throw badRequest(`Invalid value: "${resourceVersion}": strconv.ParseUint: parsing "${resourceVersion}": invalid syntax`);
    const asTable = wantsTable(request.headers.accept ?? '');
    let first = true;
    const seconds = Number(query.get('timeoutSeconds') ?? 0);
    const stop = streamWatch(
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
          const decoded = resource.decode?.(object) ?? object;
          const shownTable = table(
            resource,
            [decoded],
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
    watches.add(stop);
    response.on('close', () => watches.delete(stop));
    return null;
  }

  async function patched(wanted: ResourceRequest, request: IncomingMessage): Promise<(old: KubeObject) => Json> {
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
      throw badRequest(`error decoding patch: ${error instanceof Error ? error.message : String(error)}`);
    }
    return (old) => {
      const target = old as unknown as Json;
      if (type === 'application/json-patch+json') return jsonPatch(target, patch);
      const merged = type === 'application/merge-patch+json' ? mergePatch(target, patch) : strategicPatch(target, patch, resource.schema);
      return merged ?? null;
    };
  }

  /** Applies a patch. Unknown fields are refused in the real server's words for patches, which are not those for whole objects. */
  function patch(
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

  async function removeAll(wanted: ResourceRequest, request: IncomingMessage, warnings: string[]): Promise<Json> {
    const { resource, namespace } = wanted;
    const options = await deleteOptions(request, wanted.query, warnings);
    const matches = selector(wanted);
    const chosen = store.list(resource.storage, namespace).filter(matches);
    for (const object of chosen) {
      if (store.get(resource.storage, object.metadata.namespace ?? '', object.metadata.name) !== undefined) {
        objects.remove(resource, object.metadata.namespace ?? '', object.metadata.name, options);
      }
    }
    const items = chosen.map((object) => shown(resource, object)) as unknown as Json;
    return { kind: resource.listKind, apiVersion: groupVersion(resource), metadata: { resourceVersion: String(store.revision()) }, items };
  }

  async function remove(wanted: ResourceRequest, request: IncomingMessage, warnings: string[]): Promise<Json> {
    const { resource, namespace, name } = wanted;
    const { object, gone } = objects.remove(resource, namespace, name, await deleteOptions(request, wanted.query, warnings));
    if (!gone || RETURNED_WHEN_GONE.includes(resource.storage)) return shown(resource, object) as unknown as Json;
    const details = { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, uid: object.metadata.uid };
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  }

  async function serve(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<Answer | null> {
    const { resource, namespace, name, subresource, query } = wanted;
    const warnings: string[] = [];
    const options = { fieldValidation: query.get('fieldValidation') ?? 'Warn', dryRun: query.getAll('dryRun').includes('All'), warnings };
    if (subresource !== '' && !(subresource === 'status' && resource.statusSubresource))
      throw resource.custom ? notFound(resource, name) : noSuchResource();
    const answer = (body: Json, code = 200): Answer => ({ code, body, warnings });
    const needs = (verb: string): void => {
      if (!resource.verbs.includes(verb) || (subresource !== '' && !['get', 'patch', 'update'].includes(verb))) throw methodNotAllowed();
    };
    switch (request.method) {
      case 'GET':
        if (flag(query.get('watch'))) return watch(wanted, request, response);
        return name === '' ? answer(list(wanted, request)) : answer(present(wanted, request, objects.get(resource, namespace, name)));
      case 'POST': {
        if (name !== '') throw methodNotAllowed();
        needs('create');
        const body = await readObject(request, resource);
        return answer(present(wanted, request, objects.create(resource, namespace, body, options)), 201);
      }
      case 'PUT': {
        if (name === '') throw methodNotAllowed();
        needs('update');
        const body = await readObject(request, resource);
        return answer(
          present(
            wanted,
            request,
            objects.update(resource, namespace, name, () => body, subresource, options),
          ),
        );
      }
      case 'PATCH': {
        if (name === '') throw methodNotAllowed();
        needs('patch');
        const change = await patched(wanted, request);
        return answer(present(wanted, request, patch(wanted, change, options)));
      }
      case 'DELETE': {
        needs(name === '' ? 'deletecollection' : 'delete');
        return answer(await (name === '' ? removeAll(wanted, request, warnings) : remove(wanted, request, warnings)));
      }
      default:
        throw methodNotAllowed();
    }
  }

  return {
    serve,
    close() {
      for (const stop of [...watches]) stop();
    },
  };
}
