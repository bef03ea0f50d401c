/** A logger for tests that records its lines. */
import type { Logger } from '../../platform/logger.ts';

export interface Line {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

export function createFakeLogger(lines: Line[] = [], bound: object = {}): Logger & { lines: Line[] } {
  const at = (level: Line['level']) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...bound, ...fields } });
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createFakeLogger(lines, { ...bound, ...fields }),
  };
}
