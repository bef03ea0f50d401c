/** Runs one pod on this machine: its container as a local process, in a folder that is removed at its end. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { timestamp } from '../../../platform/clock.ts';
import type { Container, ContainerState, EnvVar, Pod, Terminated } from '../types.ts';
import { type Exit, launch, type RunningProcess } from './processes.ts';
import { materialise, MountError, type PathMap, pathsOf, type ReadSecret, rewritten } from './pod-files.ts';
import { NODE_ADDRESS } from './pod-status.ts';

/** A container's environment and arguments. */
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
interface Launch {
  command: string[];
  env: Record<string, string>;
}

/** @throws Error if a variable is not supported */
function launchOf(
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

export type Images = Record<string, { command: string[]; env?: Record<string, string> }>;

export interface PodRunDeps {
  images: Images;
  read: ReadSecret;
  now: () => Date;
  /** Writes the container's state to the pod's status. */
  report(state: ContainerState): void;
  event(type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void;
  /** Holds the pod's volumes; removed at its end. */
  folder: string;
  logPath: string;
}

export interface PodRun {
  /** Resolves when the container has ended for good. */
  ended: Promise<void>;
  /** Sends SIGTERM to the container, and SIGKILL after the grace period. A later call may shorten it. */
  stop(graceMs: number): void;
}

/** Time between attempts to start a container whose volumes cannot be mounted. */
const RETRY_MS = 1000;
const MESSAGE_BYTES = 4096;

/** @param log what the container wrote to its termination message */
function terminated({ code, signal, failure }: Exit, log: string, startedAt: string, finishedAt: string): Terminated {
  const written = existsSync(log) ? readFileSync(log).subarray(0, MESSAGE_BYTES).toString('utf8') : '';
  const message = failure ?? written;
  return {
    exitCode: code,
    reason: failure !== undefined ? 'StartError' : code === 0 ? 'Completed' : 'Error',
    ...(signal !== undefined && { signal }),
    ...(message !== '' && { message }),
    startedAt,
    finishedAt,
  };
}

export function runPod(pod: Pod, { images, read, now, report, event, folder, logPath }: PodRunDeps): PodRun {
  const [container] = pod.spec.containers as [Container];
  const { name, image } = container;
  const fieldPath = `spec.containers{${name}}`;
  const terminationLog = join(folder, `${name}.termination`);
  const stopping = new AbortController();
  let running: RunningProcess | undefined;
  let kill: NodeJS.Timeout | undefined;

  /** @returns false if the pod is being stopped */
  async function pause(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
    return !stopping.signal.aborted;
  }

  /** Reports an image that has no local process, as a kubelet reports a failed pull, until the pod is stopped. */
  async function pullForever(): Promise<void> {
    const why = `failed to pull and unpack image "${image}": no local process stands for this image`;
    event('Normal', 'Pulling', `Pulling image "${image}"`, fieldPath);
    event('Warning', 'Failed', `Failed to pull image "${image}": ${why}`, fieldPath);
    event('Warning', 'Failed', 'Error: ErrImagePull', fieldPath);
    report({ waiting: { reason: 'ErrImagePull', message: why } });
    if (!(await pause(RETRY_MS))) return;
    event('Normal', 'BackOff', `Back-off pulling image "${image}"`, fieldPath);
    event('Warning', 'Failed', 'Error: ImagePullBackOff', fieldPath);
    report({ waiting: { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": ErrImagePull: ${why}` } });
    await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
  }

  /** @throws MountError if a Secret is missing */
  function start(command: Images[string]): RunningProcess {
    materialise(pod, folder, read);
    const { command: words, env } = launchOf(pod, container, command, pathsOf(container, folder, terminationLog), folder);
    writeFileSync(terminationLog, '', { mode: 0o600 });
    return launch(words, env, folder, logPath, join(folder, `${name}.pid`));
  }

  /** Starts the container, as soon as its Secrets exist. Undefined: the pod is being stopped. */
  async function started(command: Images[string]): Promise<RunningProcess | undefined> {
    for (let reported = ''; ;) {
      try {
        return (running = start(command));
      } catch (error) {
        if (!(error instanceof MountError)) throw error;
        if (reported !== error.message) {
          event('Warning', 'FailedMount', error.message);
          report({ waiting: { reason: 'ContainerCreating' } });
        }
        reported = error.message;
      }
      if (!(await pause(RETRY_MS))) return undefined;
    }
  }

  async function runContainer(): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const command = images[image];
    if (command === undefined) return pullForever();
    event('Normal', 'Pulled', `Container image "${image}" already present on machine and can be accessed by the pod`, fieldPath);
    const process = await started(command);
    if (process === undefined) return;
    const startedAt = timestamp(now());
    event('Normal', 'Created', 'Container created', fieldPath);
    event('Normal', 'Started', 'Container started', fieldPath);
    report({ running: { startedAt } });
    const exit = await process.exited;
    running = undefined;
    report({ terminated: terminated(exit, terminationLog, startedAt, timestamp(now())) });
  }

  async function run(): Promise<void> {
    await runContainer();
    clearTimeout(kill);
    // A browser that is still ending may write to the folder. The next start of the kubelet removes what remains.
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
  }

  return {
    ended: run(),
    stop(graceMs) {
      if (!stopping.signal.aborted && running !== undefined) event('Normal', 'Killing', `Stopping container ${name}`, fieldPath);
      stopping.abort();
      running?.signal('SIGTERM');
      clearTimeout(kill);
      kill = setTimeout(() => running?.signal('SIGKILL'), graceMs);
    },
  };
}
