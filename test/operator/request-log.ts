/** A connection that records the writes which pass through it, for tests that count them. */
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';

export interface Write {
  /** Method and resource, such as `PATCH accessibilityscans/status`; without names. */
  request: string;
  path: string;
  body: unknown;
}

/** Records every request that is not a GET, except those of leases, whose number depends on time alone. */
export function logWrites(connection: KubernetesConnection): { connection: KubernetesConnection; writes: Write[] } {
  const writes: Write[] = [];
  return {
    writes,
    connection: {
      namespace: connection.namespace,
      path: connection.path,
      watch: connection.watch,
      close: connection.close,
      request(method, path, options) {
        const [resource = '', , subresource] = path.replace(/^.*\/namespaces\/[^/]+\//, '').split('/');
        if (method !== 'GET' && resource !== 'leases')
          writes.push({ request: `${method} ${[resource, ...(subresource ? [subresource] : [])].join('/')}`, path, body: options?.body });
        return connection.request(method, path, options);
      },
    },
  };
}

/** The writes of one scan: those of the resource and of its Job, Secret and Events. */
export function writesOf(writes: readonly Write[], { name }: { name: string }): Write[] {
  return writes.filter(({ path, body }) => path.includes(name) || JSON.stringify(body ?? null).includes(name));
}
