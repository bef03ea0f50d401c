/** Steps that should succeed but must not change the answer. */
import type { Logger } from '../../platform/logger.ts';

/** Runs a step. A failure is logged with what follows from it, and not thrown. */
export async function bestEffort(consequence: string, logger: Logger, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    logger.warn({ err: error }, consequence);
  }
}
