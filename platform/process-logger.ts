/** The log of a process: one JSON object per line. */
import { destination, pino, stdSerializers, type Logger } from 'pino';
import { authorityHint } from './authorities.ts';

/** @param options.sync whether each line is written at once, for a process that may end at any time */
export function openLogger({ sync = false, ...options }: { level: string; base?: object; sync?: boolean }): Logger {
  const serializers = {
    err(error: Error) {
      const hint = authorityHint(error);
      return { ...stdSerializers.err(error), ...(hint !== undefined && { hint }) };
    },
  };
  return pino({ ...options, serializers }, destination({ sync }));
}

/**
 * Waits until all lines are written. Without it, the exit writes the rest beside a write that is under way, and lines may change places.
 * A log that takes no more lines ends the wait with the process, which has a limit for its shutdown.
 */
export const flushed = (logger: Logger): Promise<void> => new Promise((resolve) => logger.flush(() => resolve()));
