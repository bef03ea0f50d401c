/** Follows an AccessibilityScan to its end with `kubectl get --watch`. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { CliError, ServiceUnavailable } from '../errors.ts';
import { gaveUp } from '../service/budget.ts';
import type { Step } from '../service/follow.ts';
import { KubectlError } from './errors.ts';
import { IDLE_MS, type Kubectl } from './kubectl.ts';
import { hasEnded, heldBack, idOf, isUntouched, SCANS, stepOf } from './scans.ts';

export interface ResourceFollowOptions {
  onStep?: (step: Step) => void;
  /** Called with each new reason for which the scan is held back. */
  onNote?: (text: string) => void;
}

/**
 * Waits for the end of a scan. The time for which it waits for something else than its turn, such as a paused queue, is
 * limited by the budget; the time in the queue and the scan itself are not.
 * @throws KubectlError if the scan does not exist or may not be read @throws CliError if it is deleted before its end
 */
export async function followResource(
  kubectl: Kubectl,
  name: string,
  { onStep, onNote }: ResourceFollowOptions = {},
): Promise<AccessibilityScan> {
  const { budget, monotonic } = kubectl.options;
  const since = monotonic();
  let seen: AccessibilityScan | null = null;
  let failures = 0;
  let reason: string | null = null;
  let wakeAfter = IDLE_MS;

  /** @returns the scan if it has ended */
  function observe({ type, object }: { type: string; object: AccessibilityScan }): AccessibilityScan | null {
    if (seen !== null && seen.metadata.uid !== object.metadata.uid) throw deleted(seen);
    seen = object;
    if (hasEnded(object)) return object;
    if (type === 'DELETED') throw deleted(object);
    onStep?.(stepOf(object));
    // An operator needs a moment to see a new scan.
    const next = isUntouched(object) && monotonic() - since < UNTOUCHED_MS ? null : heldBack(object);
    wakeAfter = next !== null ? budget.limit(UNTOUCHED_MS) : isUntouched(object) ? UNTOUCHED_MS : IDLE_MS;
    if (next === null) budget.served();
    else {
      budget.start();
      budget.count();
      if (budget.left() === 0) throw new ServiceUnavailable(true, `${next}.`, gaveUp(budget, 1, null));
      if (next !== reason) onNote?.(`${next}.`);
    }
    reason = next;
    return null;
  }

  for (;;) {
    try {
      budget.start();
      for await (const event of kubectl.watch<AccessibilityScan>(SCANS, name, () => wakeAfter)) {
        failures = 0;
        const ended = observe(event);
        if (ended !== null) return ended;
      }
    } catch (error) {
      if (!(error instanceof KubectlError)) throw error;
      if (error.reason === 'NotFound' && seen !== null) throw deleted(seen);
      if (!error.temporary) throw error;
      failures += 1;
      await kubectl.backOff(error, failures);
    }
  }
}

/** An operator that acts on a new scan does so within this time. A scan that is held back is looked at again after it. */
const UNTOUCHED_MS = 10_000;

function deleted(scan: AccessibilityScan): CliError {
  return new CliError(
    `The AccessibilityScan ${scan.metadata.name} was deleted before it ended, which cancels the scan.`,
    `Its result is kept: curbcut follow ${idOf(scan)}`,
  );
}
