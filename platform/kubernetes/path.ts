/** Addresses of the Kubernetes API: server, paths of resources, and queries. */
import type { RequestOptions, ResourceType } from './kubernetes.ts';

export interface Server {
  origin: string;
  /** The path that the API is served under, without a slash at the end; usually empty. */
  prefix: string;
}

/** @throws Error if the address is not an HTTP or HTTPS URL */
export function parseServer(address: string): Server {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`the Kubernetes server ${JSON.stringify(address)} is not an http or https URL`);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/** `/api/v1/…` or `/apis/<group>/<version>/…`, escaped. */
export function resourcePath(type: ResourceType, namespace?: string, name?: string, subresource?: string): string {
  const parts = type.group ? ['apis', type.group, type.version] : ['api', type.version];
  if (namespace) parts.push('namespaces', namespace);
  parts.push(type.plural);
  if (name !== undefined) parts.push(checkName(name));
  if (subresource) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** An empty name would turn a DELETE of one object into a DELETE of the collection. */
function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`${JSON.stringify(name)} is not a name of a Kubernetes object`);
  return name;
}

export function queryString(query: RequestOptions['query']): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)]))}` : '';
}
