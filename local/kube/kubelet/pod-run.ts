/** One pod's life on this machine: its files, its containers' processes, their ends. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { timestamp } from '../printing/durations.ts';
import { launchOf } from '../pod-environment.ts';
import { MountError, NotReadyError } from './not-ready.ts';
import { materialise, pathsOf, rewritten, type ReadData } from './volumes.ts';
import { containerStatus } from './pod-status.ts';
import { launch, type Exit, type RunningProcess } from './processes.ts';
import type { Container, ContainerStatus, Pod, Terminated } from '../workload-types.ts';

export type Images = Record<string, { command: string[]; env?: Record<string, string> }>;

export interface PodRunDeps {
  images: Images;
  read: ReadData;
  now(): Date;
  /** Writes the containers' statuses to the pod. */
  report(containers: ContainerStatus[]): void;
  event(type: 'Normal' | 'Warning', reason: string, message: string, container?: string): void;
  /** Below it the pod's volumes lie; removed at its end. */
  folder: string;
  logPath(container: string): string;
}

export interface PodRun {
  /** Resolves when every container has ended for good. */
  ended: Promise<void>;
  /** SIGTERM to all, and SIGKILL after the grace. A shorter grace may follow. */
  stop(graceMs: number): void;
}

/** Waits between attempts to start what could not be started yet. */
const RETRY_MS = 1000;
/** As long as a real kubelet waits before it starts a container again; doubled each time. */
const RESTART_BASE_MS = 10_000;
const RESTART_LONGEST_MS = 300_000;
const MESSAGE_BYTES = 4096;
const LOG_MESSAGE_BYTES = 2048;

export function runPod(pod: Pod, parts: PodRunDeps): PodRun {
  const { images, now, folder } = parts;
  const { containers } = pod.spec;
  const statuses = new Map<string, ContainerStatus>();
  const processes = new Map<string, RunningProcess>();
  const held = new Map<string, string>();
  let isStopping = false;
  let kill: NodeJS.Timeout | undefined;
  const stopping = Promise.withResolvers<void>();

  const report = (): void => parts.report(containers.flatMap(({ name }) => statuses.get(name) ?? []));
  const set = (container: Container, state: ContainerStatus['state']): void => {
    statuses.set(container.name, containerStatus(container.name, container.image, state, statuses.get(container.name)));
  };

  /** False once the pod is to stop. */
  async function pause(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([new Promise((resolve) => (timer = setTimeout(resolve, ms))), stopping.promise]);
    clearTimeout(timer);
    return !isStopping;
  }

  function messageOf(container: Container, path: string, exit: Exit): string | undefined {
    if (exit.failure !== undefined) return exit.failure;
    const written = existsSync(path) ? readFileSync(path).subarray(0, MESSAGE_BYTES).toString('utf8') : '';
    if (written !== '') return written;
    if (container.terminationMessagePolicy !== 'FallbackToLogsOnError' || exit.code === 0) return undefined;
    const log = parts.logPath(container.name);
    return existsSync(log) ? readFileSync(log).subarray(-LOG_MESSAGE_BYTES).toString('utf8') : undefined;
  }

  function terminated(exit: Exit, startedAt: string, message: string | undefined): Terminated {
    const reason = exit.failure !== undefined ? 'StartError' : exit.code === 0 ? 'Completed' : 'Error';
    const signal = exit.signal === undefined ? {} : { signal: exit.signal };
    return {
      exitCode: exit.code,
      reason,
      ...signal,
      ...(message === undefined ? {} : { message }),
      startedAt,
      finishedAt: timestamp(now()),
    };
  }

  /** Starts a container's process; null while something that it needs is missing. */
  function start(container: Container, image: Images[string]): { process: RunningProcess; terminationLog: string } | null {
    const terminationLog = join(folder, `${container.name}.termination`);
    try {
      materialise(pod, folder, parts.read);
      const paths = pathsOf(container, folder, terminationLog);
      const { command, env } = launchOf(pod, container, image, paths, folder, parts.read);
      writeFileSync(terminationLog, '', { mode: 0o600 });
      const cwd = container.workingDir === undefined ? folder : rewritten(container.workingDir, paths);
      const process = launch(
        command,
        env,
        existsSync(cwd) ? cwd : folder,
        parts.logPath(container.name),
        join(folder, `${container.name}.pid`),
      );
      return { process, terminationLog };
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      hold(container, error);
      return null;
    }
  }

  /** Says once why a container cannot start yet. */
  function hold(container: Container, error: NotReadyError): void {
    if (held.get(container.name) === error.message) return;
    held.set(container.name, error.message);
    if (error instanceof MountError) {
      parts.event('Warning', 'FailedMount', error.message);
      set(container, { waiting: { reason: 'ContainerCreating' } });
    } else {
      parts.event('Warning', 'Failed', `Error: ${error.message}`, container.name);
      set(container, { waiting: { reason: 'CreateContainerConfigError', message: error.message } });
    }
    report();
  }

  async function pullForever(container: Container): Promise<void> {
    const { image } = container;
    const why = `failed to pull and unpack image "${image}": no local process stands for this image`;
    parts.event('Normal', 'Pulling', `Pulling image "${image}"`, container.name);
    parts.event('Warning', 'Failed', `Failed to pull image "${image}": ${why}`, container.name);
    parts.event('Warning', 'Failed', 'Error: ErrImagePull', container.name);
    set(container, { waiting: { reason: 'ErrImagePull', message: why } });
    report();
    if (!(await pause(RETRY_MS))) return;
    parts.event('Normal', 'BackOff', `Back-off pulling image "${image}"`, container.name);
    parts.event('Warning', 'Failed', 'Error: ImagePullBackOff', container.name);
    set(container, { waiting: { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": ErrImagePull: ${why}` } });
    report();
    await stopping.promise;
  }

  const restarts = (code: number): boolean =>
    !isStopping && (pod.spec.restartPolicy === 'Always' || (pod.spec.restartPolicy === 'OnFailure' && code !== 0));

  async function runContainer(container: Container): Promise<void> {
    const image = images[container.image];
    if (image === undefined) return pullForever(container);
    parts.event(
      'Normal',
      'Pulled',
      `Container image "${container.image}" already present on machine and can be accessed by the pod`,
      container.name,
    );
    for (let restart = 0; !isStopping; restart += 1) {
      let started = start(container, image);
      while (started === null) {
        if (!(await pause(RETRY_MS))) return;
        started = start(container, image);
      }
      const startedAt = timestamp(now());
      processes.set(container.name, started.process);
      parts.event('Normal', 'Created', 'Container created', container.name);
      parts.event('Normal', 'Started', 'Container started', container.name);
      set(container, { running: { startedAt } });
      report();
      const exit = await started.process.exited;
      processes.delete(container.name);
      const end = terminated(exit, startedAt, messageOf(container, started.terminationLog, exit));
      set(container, { terminated: end });
      if (!restarts(exit.code)) return;
      const again = containerStatus(container.name, container.image, {
        waiting: { reason: 'CrashLoopBackOff', message: `back-off restarting failed container=${container.name} pod=${pod.metadata.name}` },
      });
      statuses.set(container.name, { ...again, lastState: { terminated: end }, restartCount: restart + 1 });
      parts.event(
        'Warning',
        'BackOff',
        `Back-off restarting failed container ${container.name} in pod ${pod.metadata.name}`,
        container.name,
      );
      report();
      if (!(await pause(Math.min(RESTART_BASE_MS * 2 ** restart, RESTART_LONGEST_MS)))) set(container, { terminated: end });
    }
  }

  async function run(): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const container of containers) set(container, { waiting: { reason: 'ContainerCreating' } });
    await Promise.all(
      containers.map(async (container) => {
        await runContainer(container);
        if (!isStopping || statuses.get(container.name)?.state.terminated !== undefined) report();
      }),
    );
    clearTimeout(kill);
    // A dying browser may still write there; what cannot be removed now is removed at the next start.
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
  }

  return {
    ended: run(),
    stop(graceMs) {
      if (!isStopping) for (const name of processes.keys()) parts.event('Normal', 'Killing', `Stopping container ${name}`, name);
      isStopping = true;
      stopping.resolve();
      for (const process of processes.values()) process.signal('SIGTERM');
      clearTimeout(kill);
      kill = setTimeout(() => {
        for (const process of processes.values()) process.signal('SIGKILL');
      }, graceMs);
    },
  };
}
