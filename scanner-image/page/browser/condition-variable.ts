/** Waits for a condition that events change. */
export interface ConditionVariable {
  /** Call it after every change of the state. */
  notify(): void;
  /** Waits until `holds` returns true. @returns false after `ms` milliseconds */
  waitFor(holds: () => boolean, ms: number): Promise<boolean>;
}

export function createConditionVariable(): ConditionVariable {
  const waiting = new Set<() => void>();
  return {
    notify() {
      for (const check of [...waiting]) check();
    },
    waitFor(holds, ms) {
      if (holds()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = (value: boolean): void => {
          clearTimeout(timer);
          waiting.delete(check);
          resolve(value);
        };
        const check = (): void => {
          if (holds()) end(true);
        };
        const timer = setTimeout(() => end(holds()), Math.max(0, ms));
        waiting.add(check);
      });
    },
  };
}
