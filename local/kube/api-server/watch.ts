/** One watch: the selected changes after a revision, as a stream of JSON lines. */
import type { ServerResponse } from 'node:http';
import { expired } from '../status.ts';
import type { Matches } from './selectors.ts';
import type { Change, Store } from '../storage/store.ts';
import type { Json, JsonObject, KubeObject, Resource } from '../types.ts';

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

/** Streams until the timeout, the client disconnects or `stop` is called. @returns stop */
export function streamWatch(store: Store, request: WatchRequest, response: ServerResponse): () => void {
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
  const ticks = request.bookmarks ? setInterval(() => bookmark(), BOOKMARK_EVERY_MS) : undefined;
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
