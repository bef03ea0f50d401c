/** A connection that records the writes which pass through it, for tests that count them. */
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';

export interface Write {
  /** Method and resource, such as `PATCH accessibilityscans/status`; without names. */
  request: string;
  path: string;
  body: unknown;
  /** Whether the API server rejected it, because the object had changed or existed already. How often depends on the load. */
  rejected: boolean;
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
      request<T>(...[method, path, options]: Parameters<KubernetesConnection['request']>): Promise<T> {
        const [resource = '', , subresource] = path.replace(/^.*\/namespaces\/[^/]+\//, '').split('/');
        const answer = connection.request<T>(method, path, options);
        if (method === 'GET' || resource === 'leases') return answer;
        const name = `${method} ${[resource, ...(subresource ? [subresource] : [])].join('/')}`;
        const write: Write = { request: name, path, body: options?.body, rejected: false };
        writes.push(write);
        answer.catch((error: unknown) => (write.rejected = error instanceof KubernetesError && error.code === 409));
        return answer;
      },
    },
  };
}
