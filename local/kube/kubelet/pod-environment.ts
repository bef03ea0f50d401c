/** A container's environment and arguments, with references resolved. */
import { downwardValue } from './downward.ts';
import { NotReadyError } from './not-ready.ts';
import { rewritten, type PathMap, type ReadData } from './volumes.ts';
import type { Container, EnvVar, Pod } from '../workload-types.ts';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function keyOf(
  read: ReadData,
  pod: Pod,
  kind: 'secret' | 'configmap',
  ref: { name: string; key: string; optional?: boolean },
): string | undefined {
  const data = read(kind, pod.metadata.namespace ?? '', ref.name);
  const value = data?.get(ref.key);
  if (value !== undefined) return value.toString('utf8');
  if (ref.optional === true) return undefined;
  if (data === undefined) throw new NotReadyError(`${kind} "${ref.name}" not found`);
  throw new NotReadyError(
    `couldn't find key ${ref.key} in ${kind === 'secret' ? 'Secret' : 'ConfigMap'} ${pod.metadata.namespace}/${ref.name}`,
  );
}

function valueOf(variable: EnvVar, pod: Pod, read: ReadData, known: Record<string, string>): string | undefined {
  const { fieldRef, secretKeyRef, configMapKeyRef } = variable.valueFrom ?? {};
  if (fieldRef !== undefined) return downwardValue(pod, fieldRef.fieldPath);
  if (secretKeyRef !== undefined) return keyOf(read, pod, 'secret', secretKeyRef);
  if (configMapKeyRef !== undefined) return keyOf(read, pod, 'configmap', configMapKeyRef);
  return expanded(variable.value ?? '', known);
}

/** Replaces `$(NAME)` by the variables defined so far, and `$$` by `$`. Unknown names stay unchanged. */
function expanded(text: string, variables: Record<string, string>): string {
  return text.replace(/\$\$|\$\(([A-Za-z_.-][\w.-]*)\)/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (variables[name] ?? whole),
  );
}

/** The command and the environment of a container's process. */
export interface Launch {
  command: string[];
  env: Record<string, string>;
}

/** @throws NotReadyError if a Secret or ConfigMap is missing */
export function launchOf(
  pod: Pod,
  container: Container,
  image: { command: string[]; env?: Record<string, string> },
  paths: PathMap,
  home: string,
  read: ReadData,
): Launch {
  const given: Record<string, string> = {};
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    for (const [kind, ref] of [['secret', secretRef] as const, ['configmap', configMapRef] as const]) {
      if (ref === undefined) continue;
      const data = read(kind, pod.metadata.namespace ?? '', ref.name);
      if (data === undefined && ref.optional !== true) throw new NotReadyError(`${kind} "${ref.name}" not found`);
      for (const [key, value] of data ?? []) given[`${prefix}${key}`] = value.toString('utf8');
    }
  }
  for (const variable of container.env ?? []) {
    const value = valueOf(variable, pod, read, given);
    if (value !== undefined) given[variable.name] = value;
  }
  const here = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, rewritten(value, paths)]));
  const args = [...(container.command ?? []), ...(container.args ?? [])].map((argument) => rewritten(expanded(argument, given), paths));
  return {
    command: container.command === undefined ? [...image.command, ...args] : args,
    env: { PATH: DEFAULT_PATH, HOME: home, HOSTNAME: pod.spec.hostname ?? pod.metadata.name, ...image.env, ...here },
  };
}
