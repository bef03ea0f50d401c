/** The kubelet's files: one folder per running pod, and the logs of the pods. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Container, Pod, Volume } from '../types.ts';
import type { Store } from '../store.ts';
import { endLeftover } from './processes.ts';

/**
 * A pod's volumes as local folders, and the mapping of a container's paths to them. A volume cannot be mounted; the start is tried again.
 */
export class MountError extends Error {
  override name = 'MountError';
}

/** Reads the data of a Secret; undefined if it does not exist. */
export type ReadSecret = (namespace: string, name: string) => Record<string, string> | undefined;

export const secretReader =
  (store: Store): ReadSecret =>
  (namespace, name) => {
    const secret = store.get('/secrets', namespace, name);
    return secret && ((secret['data'] ?? {}) as Record<string, string>);
  };

/** The files of a volume, by path. @throws MountError */
function filesOf(volume: Volume, pod: Pod, read: ReadSecret): [string, Buffer][] {
  const failed = (why: string): MountError => new MountError(`MountVolume.SetUp failed for volume "${volume.name}" : ${why}`);
  if (volume.emptyDir !== undefined) return [];
  if (volume.secret === undefined) throw failed('the embedded Kubernetes mounts only Secrets and empty folders');
  const { secretName = '' } = volume.secret;
  const data = read(pod.metadata.namespace ?? '', secretName);
  if (data === undefined) throw failed(`secret "${secretName}" not found`);
  return Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]);
}

const volumeFolder = (folder: string, volume: string): string => join(folder, 'volumes', volume);

/** Writes every mounted volume below `folder`, readable by this user only. @throws MountError if a Secret is missing */
export function materialise(pod: Pod, folder: string, read: ReadSecret): void {
  const mounted = new Set(pod.spec.containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  const used = (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name));
  const volumes = used.map((volume) => [volume.name, filesOf(volume, pod, read)] as const);
  for (const [name, files] of volumes) {
    const root = volumeFolder(folder, name);
    mkdirSync(root, { recursive: true, mode: 0o700 });
    for (const [path, value] of files) {
      const target = join(root, path);
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
    ({ name, mountPath }) => [mountPath.replace(/\/+$/, ''), volumeFolder(folder, name)] as const,
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

/** Logs are kept after their pods are deleted, so that a failure can be examined later. */
const LOG_LIFETIME_MS = 7 * 24 * 3600_000;

export interface PodFiles {
  podFolder(pod: Pod): string;
  logPath(pod: Pod): string;
}

/** Opens the folder, and removes old logs, and the processes and pod folders of an earlier run. */
export function openPodFiles(folder: string, now: Date): PodFiles {
  const logs = join(folder, 'logs');
  const pods = join(folder, 'pods');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  removeOldLogs(logs, now);
  removeLeftovers(pods);
  return {
    podFolder: ({ metadata }) => join(pods, metadata.uid),
    logPath: ({ metadata }) => join(logs, `${metadata.namespace}_${metadata.name}_${metadata.uid}.log`),
  };
}

function removeOldLogs(logs: string, now: Date): void {
  const oldest = now.getTime() - LOG_LIFETIME_MS;
  for (const file of readdirSync(logs)) {
    const path = join(logs, file);
    if (statSync(path).mtimeMs < oldest) rmSync(path, { force: true });
  }
}

function removeLeftovers(pods: string): void {
  for (const uid of existsSync(pods) ? readdirSync(pods) : []) {
    const folder = join(pods, uid);
    for (const file of readdirSync(folder)) if (file.endsWith('.pid')) endLeftover(join(folder, file));
    rmSync(folder, { recursive: true, force: true });
  }
}
