/** A pod's volumes as local folders, and the mapping of a container's paths to them. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { downwardValue } from './downward.ts';
import { MountError, NotReadyError } from './not-ready.ts';
import type { Store } from '../storage/store.ts';
import type { Container, Pod, Volume } from '../workload-types.ts';

/** Reads the data of a Secret or ConfigMap; undefined if it does not exist. */
export type ReadData = (kind: 'secret' | 'configmap', namespace: string, name: string) => Map<string, Buffer> | undefined;

export function dataReader(store: Store): ReadData {
  return (kind, namespace, name) => {
    const object = store.get(kind === 'secret' ? '/secrets' : '/configmaps', namespace, name);
    if (object === undefined) return undefined;
    const plain = kind === 'secret' ? {} : ((object['data'] ?? {}) as Record<string, string>);
    const encoded = ((kind === 'secret' ? object['data'] : object['binaryData']) ?? {}) as Record<string, string>;
    return new Map([
      ...Object.entries(plain).map(([key, value]) => [key, Buffer.from(value)] as const),
      ...Object.entries(encoded).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
    ]);
  };
}

interface Keys {
  items?: { key: string; path: string }[];
  optional?: boolean;
}

function chosen(read: ReadData, pod: Pod, kind: 'secret' | 'configmap', name: string, { items, optional }: Keys): [string, Buffer][] {
  const data = read(kind, pod.metadata.namespace ?? '', name);
  if (data === undefined) {
    if (optional === true) return [];
    throw new NotReadyError(`${kind} "${name}" not found`);
  }
  if (items === undefined) return [...data];
  return items.flatMap(({ key, path }): [string, Buffer][] => {
    const value = data.get(key);
    if (value !== undefined) return [[path, value]];
    if (optional === true) return [];
    throw new NotReadyError(`references non-existent ${kind === 'secret' ? 'secret' : 'config'} key: ${key}`);
  });
}

function downward(pod: Pod, items: { path: string; fieldRef?: { fieldPath: string } }[] = []): [string, Buffer][] {
  return items.map(({ path, fieldRef }) => [path, Buffer.from(fieldRef === undefined ? '' : downwardValue(pod, fieldRef.fieldPath))]);
}

function contents(volume: Volume, pod: Pod, read: ReadData): [string, Buffer][] {
  if (volume.secret !== undefined) return chosen(read, pod, 'secret', volume.secret.secretName, volume.secret);
  if (volume.configMap !== undefined) return chosen(read, pod, 'configmap', volume.configMap.name, volume.configMap);
  if (volume.downwardAPI !== undefined) return downward(pod, volume.downwardAPI.items);
  return (volume.projected?.sources ?? []).flatMap((source) => [
    ...(source.secret === undefined ? [] : chosen(read, pod, 'secret', source.secret.name, source.secret)),
    ...(source.configMap === undefined ? [] : chosen(read, pod, 'configmap', source.configMap.name, source.configMap)),
    ...downward(pod, source.downwardAPI?.items),
  ]);
}

function mountable(volume: Volume, pod: Pod, read: ReadData): [string, Buffer][] {
  try {
    return contents(volume, pod, read);
  } catch (error) {
    if (!(error instanceof NotReadyError)) throw error;
    throw new MountError(`MountVolume.SetUp failed for volume "${volume.name}" : ${error.message}`);
  }
}

const volumeFolder = (folder: string, volume: string): string => join(folder, 'volumes', volume);

/** Writes every mounted volume below `folder`, readable by this user only. @throws MountError if a Secret or ConfigMap is missing */
export function materialise(pod: Pod, folder: string, read: ReadData): void {
  const mounted = new Set(pod.spec.containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  const used = (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name));
  const volumes = used.map((volume) => [volume.name, mountable(volume, pod, read)] as const);
  for (const [name, files] of volumes) {
    const root = volumeFolder(folder, name);
    mkdirSync(root, { recursive: true, mode: 0o700 });
    for (const [path, value] of files) {
      const target = join(root, normalize(`/${path}`));
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
      rmSync(target, { force: true });
      writeFileSync(target, value, { mode: 0o600 });
    }
  }
}

/** Pairs of a container's path and the local path. The longest come first. */
export type PathMap = readonly (readonly [string, string])[];

/** The local paths of a container's mounts and its termination message. */
export function pathsOf(container: Container, folder: string, terminationLog: string): PathMap {
  const mounts = (container.volumeMounts ?? []).map(
    ({ name, mountPath, subPath = '' }) =>
      [mountPath.replace(/\/+$/, ''), join(volumeFolder(folder, name), normalize(`/${subPath}`))] as const,
  );
  const log = [container.terminationMessagePath ?? '/dev/termination-log', terminationLog] as const;
  return [...mounts, log].sort(([a], [b]) => b.length - a.length);
}

/** Maps a value that is a path in the container, or below one, to the local path. Other values are unchanged. */
export function rewritten(value: string, paths: PathMap): string {
  for (const [from, to] of paths) {
    if (value === from) return to.replace(/\/$/, '');
    if (value.startsWith(`${from}/`)) return join(to, value.slice(from.length + 1));
  }
  return value;
}
