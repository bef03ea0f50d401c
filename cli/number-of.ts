/** Numbers in arguments. */
import { UsageError } from './errors.ts';

/** Parses the number of an option. @throws UsageError */
export function numberOf(command: string, option: string, text: string | undefined, whole: boolean): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number < 0 || (whole && !Number.isSafeInteger(number)))
    throw new UsageError(`--${option} ${text} is not a ${whole ? 'whole ' : ''}number of at least 0.`, command);
  return number;
}
