/** One watch: the selected changes after a revision, as a stream of JSON lines. */
import type { ServerResponse } from 'node:http';
import { badRequest, expired } from '../status.ts';
import type { Change, Store } from '../store.ts';
import type { Json, JsonObject, KubeObject, Resource } from '../types.ts';

/** Parses label and field selectors to predicates. */
export type Matches = (object: KubeObject) => boolean;

const REQUIREMENT = /^\s*(!?)\s*([A-Za-z0-9][\w./-]*)\s*(?:(==|=|!=)\s*([\w.-]*)|\s(in|notin)\s*\(([^)]*)\))?\s*$/;

/** Splits at commas outside parentheses. */
function splitRequirements(selector: string): string[] {
  return selector.split(/,(?![^(]*\))/).filter((part) => part.trim() !== '');
}

function labelRequirement(text: string): (labels: Record<string, string>) => boolean {
  const match = REQUIREMENT.exec(text.replace(/(\s)(in|notin)\(/, '$1$2 ('));
  if (match === null) {
    const wrong = /(?:==|!=|=)([=!<>])/.exec(text)?.[1] ?? text.trim();
    throw badRequest(`unable to parse requirement: found '${wrong}', expected: identifier`);
  }
  const [, not, key = '', operator, value = '', set, list = ''] = match;
  if (operator === undefined && set === undefined) return not === '!' ? (labels) => !(key in labels) : (labels) => key in labels;
  if (set !== undefined) {
    const values = new Set(list.split(',').map((item) => item.trim()));
    return set === 'in'
      ? (labels) => labels[key] !== undefined && values.has(labels[key])
      : (labels) => labels[key] === undefined || !values.has(labels[key]);
  }
  if (operator === '!=') return (labels) => labels[key] !== value;
  return (labels) => labels[key] === value;
}

/** `a=b,c!=d,e in (f,g),!h`. @throws StatusError 400 */
export function labelSelector(selector: string): Matches {
  const requirements = splitRequirements(selector).map(labelRequirement);
  return (object) => requirements.every((holds) => holds(object.metadata.labels ?? {}));
}

/** `metadata.name=x,status.phase!=y`; only supported fields. @throws StatusError 400 */
export function fieldSelector(selector: string, resource: Resource): Matches {
  const known: Record<string, (object: KubeObject) => string> = {
    'metadata.name': (object) => object.metadata.name,
    ...(resource.namespaced || !resource.custom ? { 'metadata.namespace': (object: KubeObject) => object.metadata.namespace ?? '' } : {}),
    ...resource.fields,
  };
  const requirements = selector
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(part);
      if (match === null) throw badRequest(`invalid selector: '${selector}'; can't understand '${part}'`);
      const [, field = '', operator, value = ''] = match;
      const read = known[field];
      if (read === undefined) throw badRequest(unknownField(field, resource, Object.keys(known)));
      return operator === '!=' ? (object: KubeObject) => read(object) !== value : (object: KubeObject) => read(object) === value;
    });
  return (object) => requirements.every((holds) => holds(object));
}

function unknownField(field: string, resource: Resource, known: string[]): string {
  if (resource.custom) return `field label not supported: ${field}`;
  if (Object.keys(resource.fields).length > 0) return `field label not supported: ${field}`;
  return `"${field}" is not a known field selector: only ${known.map((name) => `"${name}"`).join(', ')}`;
}

export interface WatchRequest {
  resource: Resource;
  namespace: string;
  matches: Matches;
  resourceVersion: string;
  bookmarks: boolean;
  /** Whether the stream starts with all existing objects and a bookmark. */
  sendInitialEvents: boolean;
  timeoutMs: number;
  /** Encodes an object: as it is, or as a table with one row. */
  present(object: KubeObject): Json;
}

/** A client with more unread bytes is disconnected; it must list again. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
const BOOKMARK_EVERY_MS = 30_000;

/** A real server has no watch cache of Events, in either group, and so no bookmarks. */
const hasBookmarks = ({ plural, group }: Resource): boolean => !(plural === 'events' && ['', 'events.k8s.io'].includes(group));

/** Streams until the timeout, the client disconnects or `stop` is called. @returns stop */
export function streamWatch(
  store: Store,
  request: WatchRequest,
  response: ServerResponse,
  bookmarkEveryMs = BOOKMARK_EVERY_MS,
): () => void {
  const { resource, namespace, matches } = request;
  const send = (type: string, object: Json): void => {
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(`${JSON.stringify({ type, object })}\n`);
  };
  const show = (object: KubeObject): Json => request.present(object);
  const concerns = (object: KubeObject): boolean => namespace === '' || object.metadata.namespace === namespace;
  const deliver = (change: Change): void => {
    if (change.storage !== resource.storage || !concerns(change.object)) return;
    const did = change.before !== undefined && matches(change.before);
    const does = change.type !== 'DELETED' && matches(change.object);
    if (does) send(did ? 'MODIFIED' : 'ADDED', show(change.object));
    else if (did)
      send(
        'DELETED',
        show(
          change.type === 'DELETED'
            ? change.object
            : ({ ...change.before, metadata: { ...change.before?.metadata, resourceVersion: String(change.revision) } } as KubeObject),
        ),
      );
  };
  const bookmark = (annotations?: JsonObject): void => {
    send('BOOKMARK', {
      kind: resource.kind,
      apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
      metadata: { resourceVersion: String(store.revision()), ...(annotations === undefined ? {} : { annotations }) },
    });
  };

  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const fresh = request.resourceVersion === '' || request.resourceVersion === '0';
  if (fresh || request.sendInitialEvents) {
    for (const object of store.list(resource.storage, namespace)) if (matches(object)) send('ADDED', show(object));
    if (request.sendInitialEvents) bookmark({ 'k8s.io/initial-events-end': 'true' });
  } else {
    const missed = store.since(Number(request.resourceVersion));
    if (missed === null) {
      send('ERROR', expired(`too old resource version: ${request.resourceVersion} (${store.revision()})`).body);
      response.end();
      return () => undefined;
    }
    for (const change of missed) deliver(change);
  }
  const unsubscribe = store.subscribe(deliver);
  const ticks = request.bookmarks && hasBookmarks(resource) ? setInterval(() => bookmark(), bookmarkEveryMs) : undefined;
  const end = setTimeout(() => stop(), request.timeoutMs);
  function stop(): void {
    unsubscribe();
    clearInterval(ticks);
    clearTimeout(end);
    if (!response.writableEnded) response.end();
  }
  response.on('close', stop);
  return stop;
}
