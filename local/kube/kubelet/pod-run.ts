/** Runs one pod on this machine: creates its folder, runs its containers, removes the folder. */
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Container, ContainerStatus, Pod } from '../workload-types.ts';
import { runContainer, type PodContext, type PodRunDeps } from './container-run.ts';
import { containerStatus } from './pod-status.ts';

export interface PodRun {
  /** Resolves when every container has ended for good. */
  ended: Promise<void>;
  /** Sends SIGTERM to all containers, and SIGKILL after the grace period. A later call may shorten it. */
  stop(graceMs: number): void;
}

async function runContainers(context: PodContext): Promise<void> {
  const { pod, deps, statuses, set, report } = context;
  mkdirSync(deps.folder, { recursive: true, mode: 0o700 });
  for (const container of pod.spec.containers) set(container, { waiting: { reason: 'ContainerCreating' } });
  await Promise.all(
    pod.spec.containers.map(async (container) => {
      await runContainer(context, container);
      if (!context.isStopping() || statuses.get(container.name)?.state.terminated !== undefined) report();
    }),
  );
}

export function runPod(pod: Pod, deps: PodRunDeps): PodRun {
  const statuses: PodContext['statuses'] = new Map();
  const processes: PodContext['processes'] = new Map();
  const stopping = Promise.withResolvers<void>();
  let isStopping = false;
  let kill: NodeJS.Timeout | undefined;

  const context: PodContext = {
    pod,
    deps,
    statuses,
    processes,
    held: new Map(),
    isStopping: () => isStopping,
    stopped: stopping.promise,
    report: () => deps.report(pod.spec.containers.flatMap(({ name }) => statuses.get(name) ?? [])),
    set(container: Container, state: ContainerStatus['state']) {
      statuses.set(container.name, containerStatus(container.name, container.image, state, statuses.get(container.name)));
    },
    async pause(ms) {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([new Promise((resolve) => (timer = setTimeout(resolve, ms))), stopping.promise]);
      clearTimeout(timer);
      return !isStopping;
    },
  };

  async function run(): Promise<void> {
    await runContainers(context);
    clearTimeout(kill);
    // A browser that is still ending may write to the folder. The next start of the kubelet removes what remains.
    await rm(deps.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
  }

  return {
    ended: run(),
    stop(graceMs) {
      if (!isStopping) for (const name of processes.keys()) deps.event('Normal', 'Killing', `Stopping container ${name}`, name);
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
