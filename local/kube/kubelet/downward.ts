/** The downward API: a pod's own fields as environment variables and files. */
import { NotReadyError } from './not-ready.ts';
import { NODE_ADDRESS } from './node.ts';
import type { Pod } from '../workload-types.ts';

const lines = (map: Record<string, string> | undefined): string =>
  Object.entries(map ?? {})
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');

/** The value of a downward API field path. @throws NotReadyError if the path is not supported */
export function downwardValue(pod: Pod, path: string): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed !== null) return pod.metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  switch (path) {
    case 'metadata.name':
      return pod.metadata.name;
    case 'metadata.namespace':
      return pod.metadata.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata.uid;
    case 'metadata.labels':
      return lines(pod.metadata.labels);
    case 'metadata.annotations':
      return lines(pod.metadata.annotations);
    case 'spec.nodeName':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? 'default';
    case 'status.podIP':
    case 'status.podIPs':
    case 'status.hostIP':
    case 'status.hostIPs':
      return NODE_ADDRESS;
    default:
      throw new NotReadyError(`unsupported fieldPath: ${path}`);
  }
}
