/** One sweep: what it has repaired so far, and how it runs its repairs: one by one, so that one that fails does not stop the others. */
import type { Logger } from '../../platform/logger.ts';
import { hasCode } from '../../platform/kubernetes/kubernetes.ts';

/** What a sweep counts. */
export const REPAIRS = [
  /** Pending rows whose resource exists. */
  'accepted',
  /** Pending rows whose scan will never run. */
  'abandoned',
  /** Holds whose scan has ended or was abandoned. */
  'settled',
  /** Operations copied to the ledger. */
  'relayed',
  /** Live rows whose resource is gone, or is not watched any more. */
  'orphaned',
  /** Ended scans whose reports were removed. */
  'expired',
  /** Rows of ended scans that were removed. */
  'forgotten',
  /** Tokens of public scans that were removed, with their e-mail addresses. */
  'tokens',
  /** Abandoned rows that were removed. */
  'removed',
  /** Scans whose needless uploads were removed. */
  'uploads',
  /** Repairs that failed. The next sweep retries them. */
  'failed',
  /** Repairs that the API server did not permit, because the namespace is not readable. */
  'unreadable',
] as const;
export type SweepResult = Record<(typeof REPAIRS)[number], number>;

export interface Run {
  readonly result: SweepResult;
  /** Aborts when the replica stops or no longer leads. */
  readonly signal: AbortSignal;
  /** Repairs each item, in order. Logs and counts failures. @throws the signal's reason if it aborts */
  each<T>(items: readonly T[], fieldsOf: (item: T) => object, repair: (item: T) => Promise<void>): Promise<void>;
}

export function createRun(logger: Logger, signal: AbortSignal): Run {
  const result = Object.fromEntries(REPAIRS.map((name) => [name, 0])) as SweepResult;
  return {
    result,
    signal,
    async each(items, fieldsOf, repair) {
      for (const item of items) {
        signal.throwIfAborted();
        try {
          await repair(item);
        } catch (error) {
          signal.throwIfAborted();
          const forbidden = hasCode(error, 401, 403);
          result[forbidden ? 'unreadable' : 'failed'] += 1;
          logger[forbidden ? 'debug' : 'warn']({ ...fieldsOf(item), err: error }, 'sweep cannot repair, retrying with the next sweep');
        }
      }
    },
  };
}
