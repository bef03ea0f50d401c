/** The logger that packages receive: a subset of pino's interface. Only the `main.ts` files import pino. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** Runs a step whose failure must not change the response. It is logged with its consequence and not thrown. */
export async function bestEffort(consequence: string, logger: Logger, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    logger.warn({ err: error }, consequence);
  }
}
