/** Runs one container of a pod as a local process: start and termination. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timestamp } from '../../../platform/clock.ts';
import type { Container, ContainerStatus, Pod, Terminated } from '../workload-types.ts';
import { MountError, NotReadyError } from './not-ready.ts';
import { launchOf } from './pod-environment.ts';
import { launch, type Exit, type RunningProcess } from './processes.ts';
import { materialise, pathsOf, type ReadSecret } from './volumes.ts';

export type Images = Record<string, { command: string[]; env?: Record<string, string> }>;

export interface PodRunDeps {
  images: Images;
  read: ReadSecret;
  now: () => Date;
  /** Writes the containers' statuses to the pod's status. */
  report(containers: ContainerStatus[]): void;
  event(type: 'Normal' | 'Warning', reason: string, message: string, container?: string): void;
  /** Holds the pod's volumes; removed at its end. */
  folder: string;
  logPath(container: string): string;
}

/** What the containers of a pod share. */
export interface PodContext {
  pod: Pod;
  deps: PodRunDeps;
  statuses: Map<string, ContainerStatus>;
  processes: Map<string, RunningProcess>;
  /** The reported reason why a container cannot start, by container. */
  held: Map<string, string>;
  isStopping(): boolean;
  stopped: Promise<void>;
  set(container: Container, state: ContainerStatus['state']): void;
  report(): void;
  /** @returns false if the pod is being stopped */
  pause(ms: number): Promise<boolean>;
}

/** Time between attempts to start a container that is not ready. */
const RETRY_MS = 1000;
const MESSAGE_BYTES = 4096;

/** The termination message: why the start failed, or what the container wrote to its file. */
function messageOf({ failure }: Exit, path: string): string | undefined {
  if (failure !== undefined) return failure;
  const written = existsSync(path) ? readFileSync(path).subarray(0, MESSAGE_BYTES).toString('utf8') : '';
  return written === '' ? undefined : written;
}

function terminated(exit: Exit, startedAt: string, finishedAt: string, message: string | undefined): Terminated {
  const reason = exit.failure !== undefined ? 'StartError' : exit.code === 0 ? 'Completed' : 'Error';
  const signal = exit.signal === undefined ? {} : { signal: exit.signal };
  return {
    exitCode: exit.code,
    reason,
    ...signal,
    ...(message === undefined ? {} : { message }),
    startedAt,
    finishedAt,
  };
}

/** Starts a container's process; null if a Secret is missing. */
function start(
  context: PodContext,
  container: Container,
  image: Images[string],
): { process: RunningProcess; terminationLog: string } | null {
  const { pod, deps } = context;
  const { folder } = deps;
  const terminationLog = join(folder, `${container.name}.termination`);
  try {
    materialise(pod, folder, deps.read);
    const paths = pathsOf(container, folder, terminationLog);
    const { command, env } = launchOf(pod, container, image, paths, folder);
    writeFileSync(terminationLog, '', { mode: 0o600 });
    const process = launch(command, env, folder, deps.logPath(container.name), join(folder, `${container.name}.pid`));
    return { process, terminationLog };
  } catch (error) {
    if (!(error instanceof NotReadyError)) throw error;
    hold(context, container, error);
    return null;
  }
}

/** Reports once why a container cannot start yet. */
function hold({ deps, held, set, report }: PodContext, container: Container, error: NotReadyError): void {
  if (held.get(container.name) === error.message) return;
  held.set(container.name, error.message);
  if (error instanceof MountError) {
    deps.event('Warning', 'FailedMount', error.message);
    set(container, { waiting: { reason: 'ContainerCreating' } });
  } else {
    deps.event('Warning', 'Failed', `Error: ${error.message}`, container.name);
    set(container, { waiting: { reason: 'CreateContainerConfigError', message: error.message } });
  }
  report();
}

/** Reports an image that has no local process, as a kubelet reports a failed pull, until the pod is stopped. */
async function pullForever({ deps, set, report, pause, stopped }: PodContext, container: Container): Promise<void> {
  const { image } = container;
  const why = `failed to pull and unpack image "${image}": no local process stands for this image`;
  deps.event('Normal', 'Pulling', `Pulling image "${image}"`, container.name);
  deps.event('Warning', 'Failed', `Failed to pull image "${image}": ${why}`, container.name);
  deps.event('Warning', 'Failed', 'Error: ErrImagePull', container.name);
  set(container, { waiting: { reason: 'ErrImagePull', message: why } });
  report();
  if (!(await pause(RETRY_MS))) return;
  deps.event('Normal', 'BackOff', `Back-off pulling image "${image}"`, container.name);
  deps.event('Warning', 'Failed', 'Error: ImagePullBackOff', container.name);
  set(container, { waiting: { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": ErrImagePull: ${why}` } });
  report();
  await stopped;
}

/** Runs a container until it has ended or the pod is stopped. */
export async function runContainer(context: PodContext, container: Container): Promise<void> {
  const { deps, processes, set, report, pause } = context;
  const { images, now } = deps;
  const image = images[container.image];
  if (image === undefined) return pullForever(context, container);
  deps.event(
    'Normal',
    'Pulled',
    `Container image "${container.image}" already present on machine and can be accessed by the pod`,
    container.name,
  );
  let started = start(context, container, image);
  while (started === null) {
    if (!(await pause(RETRY_MS))) return;
    started = start(context, container, image);
  }
  const startedAt = timestamp(now());
  processes.set(container.name, started.process);
  deps.event('Normal', 'Created', 'Container created', container.name);
  deps.event('Normal', 'Started', 'Container started', container.name);
  set(container, { running: { startedAt } });
  report();
  const exit = await started.process.exited;
  processes.delete(container.name);
  set(container, { terminated: terminated(exit, startedAt, timestamp(now()), messageOf(exit, started.terminationLog)) });
}
