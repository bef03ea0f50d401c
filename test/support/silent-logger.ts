import type { Logger } from '../../platform/logger.ts';

const nothing = () => undefined;

/** A logger that writes nothing. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => silentLogger };
