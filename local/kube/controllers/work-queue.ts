/** A queue of objects to reconcile, by namespace and name. An object that is added several times is reconciled once. */

export interface WorkQueue {
  /** Reconciles the object after the current write. */
  add(namespace: string, name: string): void;
  /** Drops what is queued and ignores later additions. */
  close(): void;
}

/** @param failed receives what `reconcile` throws and the key `namespace/name`; the queue continues with the next object */
export function openWorkQueue(
  reconcile: (namespace: string, name: string) => void,
  failed: (error: unknown, key: string) => void,
): WorkQueue {
  const keys = new Set<string>();
  let scheduled: NodeJS.Immediate | undefined;
  let isClosed = false;

  function run(): void {
    scheduled = undefined;
    for (const key of [...keys]) {
      keys.delete(key);
      const [namespace = '', name = ''] = key.split('/');
      try {
        reconcile(namespace, name);
      } catch (error) {
        failed(error, key);
      }
    }
  }

  return {
    add(namespace, name) {
      if (isClosed) return;
      keys.add(`${namespace}/${name}`);
      scheduled ??= setImmediate(run);
    },
    close() {
      isClosed = true;
      clearImmediate(scheduled);
    },
  };
}
