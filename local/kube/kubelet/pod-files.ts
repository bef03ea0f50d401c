/** The kubelet's files: one folder per running pod, and the logs of the pods. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../workload-types.ts';
import { endLeftover } from './processes.ts';

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
