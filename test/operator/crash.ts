/** Crashes of operators in tests. */
import type { OperatorContext } from './context.ts';

/**
 * Simulates a crash: returns dependencies that fail every request after the given number of writes. Writes of Leases and
 * Events do not count, because they are not steps of a scan.
 */
export function crashAfter(context: OperatorContext, writes: number) {
  const { promise: happened, resolve } = Promise.withResolvers<void>();
  let left = writes;
  let crashed = false;
  const pass = (isWrite: boolean): void => {
    if (!crashed && isWrite && left-- <= 0) {
      crashed = true;
      resolve();
    }
    if (crashed) throw new Error('simulated crash');
  };
  const guard = <T extends object>(store: T, reads: readonly string[]): T =>
    new Proxy(store, {
      get(target, name, receiver) {
        const member = Reflect.get(target, name, receiver) as unknown;
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          pass(!reads.includes(String(name)));
          return (member as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  const { connection, stores } = context;
  const counted = /\/(accessibilityscans|jobs|secrets)/;
  return {
    happened,
    deps: {
      connection: {
        ...connection,
        namespace: connection.namespace,
        path: connection.path.bind(connection),
        request: async (method, path, options) => {
          pass(method !== 'GET' && counted.test(path));
          return connection.request(method, path, options);
        },
        watch: connection.watch.bind(connection),
      } as typeof connection,
      stores: {
        ...stores,
        scans: guard(stores.scans, ['find', 'pending', 'stale', 'expired']),
        credits: guard(stores.credits, ['balance', 'holds', 'ledger', 'relay', 'open']),
      },
    },
  };
}
