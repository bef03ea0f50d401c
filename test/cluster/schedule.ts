/** Runs tasks that share a node. Limits how many run at the same time. */

export interface SharedTask {
  /** The share of the node that the task needs, from 0 to 1. */
  share: number;
  /** The task starts when this resolves. If it rejects, the task does not run. */
  ready: Promise<void>;
  run(): Promise<void>;
  /** Called with the error of a task that failed, or could not start. */
  failed(error: unknown): void;
}

/** Runs all tasks: at most `processes` at a time, with shares of at most 1 in total. Starts the first task that fits. */
export async function runShared(tasks: readonly SharedTask[], processes: number): Promise<void> {
  const waiting = [...tasks];
  const ready = new Set<SharedTask>();
  const running = new Map<SharedTask, Promise<void>>();
  const becomingReady = new Map(
    tasks.map((task) => [
      task,
      task.ready.then(
        () => void ready.add(task),
        (error: unknown) => {
          waiting.splice(waiting.indexOf(task), 1);
          task.failed(error);
        },
      ),
    ]),
  );
  const used = (): number => [...running.keys()].reduce((sum, { share }) => sum + share, 0);
  const startWhatFits = (): void => {
    for (const task of [...waiting]) {
      if (running.size >= processes) return;
      if (!ready.has(task) || used() + task.share > 1) continue;
      waiting.splice(waiting.indexOf(task), 1);
      const run = task.run().catch((error: unknown) => task.failed(error));
      running.set(task, run.finally(() => void running.delete(task))); // prettier-ignore
    }
  };

  await Promise.resolve();
  for (;;) {
    startWhatFits();
    if (waiting.length === 0 && running.size === 0) return;
    const notReady = waiting.filter((task) => !ready.has(task)).map((task) => becomingReady.get(task)!);
    await Promise.race([...running.values(), ...notReady]);
  }
}
