/** GET requests: single objects, lists and watches. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { table, wantsTable } from '../printing/tables.ts';
import { groupVersion } from '../resources/catalogue.ts';
import { badRequest } from '../status.ts';
import type { Json, JsonObject, KubeObject } from '../types.ts';
import type { RequestDeps, ResourceRequest } from './resource-request.ts';
import { fieldSelector, labelSelector, type Matches } from './selectors.ts';
import { streamWatch } from './watch.ts';

const DEFAULT_WATCH_MS = 40 * 60_000;

/** A boolean query parameter as the real server reads it. */
export const flag = (value: string | null): boolean => value !== null && value !== '' && value !== '0' && value.toLowerCase() !== 'false';

/** An object, or its table if the client asked for one. */
export function present({ now }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage, object: KubeObject): Json {
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
export function list({ store, now }: RequestDeps, wanted: ResourceRequest, request: IncomingMessage): Json {
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
export function watch(
  { store, now }: RequestDeps,
  wanted: ResourceRequest,
  request: IncomingMessage,
  response: ServerResponse,
): () => void {
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
