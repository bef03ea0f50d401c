/** The HTTPS server: authentication, routing, responses and errors. */
import { timingSafeEqual, createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { errorMessage } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Catalogue } from '../resources/builtins.ts';
import * as discovery from './discovery.ts';
import { noSuchResource, StatusError } from '../status.ts';
import type { Answer, Requests, ResourceRequest } from './requests.ts';
import type { Json, Resource } from '../types.ts';

export interface ServerDeps {
  key: string;
  certificate: string;
  token: string;
  catalogue: Catalogue;
  requests: Requests;
  /** A document at or below `/openapi/v3`; undefined if it does not exist. */
  openapi(path: string): Json | undefined;
  /** `pods/log`. */
  streamLog(namespace: string, name: string, query: URLSearchParams, response: ServerResponse): void;
  logger: Logger;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function send(response: ServerResponse, answer: Answer): void {
  for (const warning of answer.warnings) response.appendHeader('warning', `299 - ${JSON.stringify(warning)}`);
  const text = `${JSON.stringify(answer.body)}\n`;
  response.writeHead(answer.code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

const ok = (body: Json): Answer => ({ code: 200, body, warnings: [] });

function sendText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(text);
}

function sendError(response: ServerResponse, error: unknown, logger: Logger): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (error instanceof StatusError) {
    send(response, { code: error.code, body: error.body, warnings: [] });
    return;
  }
  logger.error({ err: error }, 'embedded Kubernetes request failed');
  const message = `Internal error occurred: ${errorMessage(error)}`;
  send(response, { code: 500, body: new StatusError(500, 'InternalError', message).body, warnings: [] });
}

/** Parses a path below `/api/v1` or `/apis/<group>/<version>`; undefined if it names no resource. */
function resourceRequest(
  catalogue: Catalogue,
  group: string,
  version: string,
  rest: string[],
  query: URLSearchParams,
): ResourceRequest | undefined {
  const find = (plural: string | undefined): Resource | undefined => catalogue.find(group, version, plural ?? '');
  let namespace = '';
  let parts = rest;
  if (parts[0] === 'namespaces' && parts[1] !== undefined && parts[2] !== undefined && !['status', 'finalize'].includes(parts[2])) {
    namespace = parts[1];
    parts = parts.slice(2);
  }
  const [plural, name = '', subresource = '', ...more] = parts;
  const resource = find(plural);
  if (resource === undefined || more.length > 0) return undefined;
  if (namespace !== '' && !resource.namespaced) return undefined;
  if (namespace === '' && resource.namespaced && name !== '') return undefined;
  return { resource, namespace, name, subresource, query };
}

async function serve(deps: ServerDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { catalogue } = deps;
  const url = new URL(request.url ?? '/', 'https://localhost');
  const path = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const all = catalogue.all();
  const [root, ...rest] = path;
  switch (root) {
    case 'version':
      return send(response, ok(discovery.VERSION));
    case 'openapi': {
      const document = deps.openapi(path.slice(1).join('/'));
      return document === undefined ? sendText(response, 404, '404 page not found\n') : send(response, ok(document));
    }
    case 'api':
    case 'apis': {
      const core = root === 'api';
      if (rest.length === 0) return send(response, ok(core ? discovery.coreVersions() : discovery.groupList(all)));
      const [group = '', version = '', ...below] = core ? ['', ...rest] : rest;
      const name = core ? version : `${group}/${version}`;
      const offered = discovery.ofGroupVersion(all, name);
      if (offered.length === 0) return sendText(response, 404, '404 page not found\n');
      if (below.length === 0) return send(response, ok(discovery.resourceList(offered, name)));
      const wanted = resourceRequest(catalogue, group, version, below, url.searchParams);
      if (wanted === undefined) throw noSuchResource();
      if (wanted.resource.storage === '/pods' && wanted.subresource === 'log' && request.method === 'GET') {
        return deps.streamLog(wanted.namespace, wanted.name, url.searchParams, response);
      }
      const answer = await deps.requests.serve(wanted, request, response);
      return answer === null ? undefined : send(response, answer);
    }
    default:
      return sendText(response, 404, '404 page not found\n');
  }
}

/** Creates the server without listening. */
export function createApiServer(deps: ServerDeps): Server {
  const expected = digest(`Bearer ${deps.token}`);
  return createServer({ key: deps.key, cert: deps.certificate, keepAliveTimeout: 60_000 }, (request, response) => {
    if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) {
      request.resume();
      send(response, { code: 401, body: new StatusError(401, 'Unauthorized', 'Unauthorized').body, warnings: [] });
      return;
    }
    serve(deps, request, response).catch((error: unknown) => sendError(response, error, deps.logger));
  });
}
