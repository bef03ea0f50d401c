/** A container's environment and arguments. */
import { NODE_ADDRESS } from './node.ts';
import { rewritten, type PathMap } from './volumes.ts';
import type { Container, EnvVar, Pod } from '../workload-types.ts';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The value of a variable: text, or a field of the pod. @throws Error for any other source */
function valueOf({ name, value = '', valueFrom }: EnvVar, pod: Pod): string {
  if (valueFrom === undefined) return value;
  const path = valueFrom.fieldRef?.fieldPath ?? '';
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (map !== undefined) return pod.metadata[map as 'labels' | 'annotations']?.[key] ?? '';
  if (path === 'metadata.name') return pod.metadata.name;
  if (path === 'metadata.namespace') return pod.metadata.namespace ?? '';
  if (path === 'metadata.uid') return pod.metadata.uid;
  if (path === 'status.podIP') return NODE_ADDRESS;
  throw new Error(`the embedded Kubernetes does not support the source of the variable ${name}`);
}

/** The command and the environment of a container's process. */
export interface Launch {
  command: string[];
  env: Record<string, string>;
}

/** @throws Error if a variable is not supported */
export function launchOf(
  pod: Pod,
  container: Container,
  image: { command: string[]; env?: Record<string, string> },
  paths: PathMap,
  home: string,
): Launch {
  const given = (container.env ?? []).map((variable) => [variable.name, rewritten(valueOf(variable, pod), paths)]);
  const args = [...(container.command ?? []), ...(container.args ?? [])].map((argument) => rewritten(argument, paths));
  return {
    command: container.command === undefined ? [...image.command, ...args] : args,
    env: { PATH: DEFAULT_PATH, HOME: home, HOSTNAME: pod.spec.hostname ?? pod.metadata.name, ...image.env, ...Object.fromEntries(given) },
  };
}
