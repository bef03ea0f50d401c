/** Runs steps whose failure must not change the response. */
import type { Logger } from '../../../platform/logger.ts';

/** Runs a step. A failure is logged with its consequence and not thrown. */
export async function bestEffort(consequence: string, logger: Logger, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    logger.warn({ err: error }, consequence);
  }
}
