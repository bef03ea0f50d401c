/** Type conversion of `$convert`, `$toInt` and similar operators. */
import { CommandError } from '../errors.ts';
import { asDouble, numberType, toNumber, typeName } from '../values.ts';

export type Target = 'bool' | 'int' | 'long' | 'double' | 'string' | 'date';

/** Converts a value; null and missing become null. @throws CommandError if the value cannot be converted */
export function convert(value: unknown, target: Target): unknown {
  if (value === null || value === undefined) return null;
  switch (target) {
    case 'bool':
      return typeof value === 'boolean' ? value : numberType(value) === null || toNumber(value) !== 0;
    case 'string':
      return text(value);
    case 'date':
      return date(value);
    case 'double':
      return asDouble(numeric(value, target));
    case 'int': {
      const whole = Math.trunc(numeric(value, target));
      if (!(Math.abs(whole) <= 2 ** 31)) throw failed(value, target, 'overflow');
      return whole === 0 ? 0 : whole;
    }
    case 'long': {
      if (typeof value === 'bigint') return value;
      const whole = Math.trunc(numeric(value, target));
      if (!(Math.abs(whole) < 2 ** 63)) throw failed(value, target, 'overflow');
      return BigInt(whole);
    }
  }
}

function numeric(value: unknown, target: Target): number {
  if (numberType(value) !== null) return toNumber(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Date && target !== 'int') return value.getTime();
  if (typeof value === 'string' && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    if (target === 'double' || /^[+-]?\d+$/.test(value)) return Number(value);
  }
  throw failed(value, target, 'no such number');
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (numberType(value) !== null) return typeof value === 'bigint' ? String(value) : String(toNumber(value));
  if (typeof value === 'boolean') return String(value);
  if (typeName(value) === 'objectId') return String(value);
  throw failed(value, 'string', 'no such text');
}

function date(value: unknown): Date {
  if (value instanceof Date) return value;
  const type = numberType(value);
  if (type !== null && type !== 'int') return new Date(toNumber(value));
  const parsed = typeof value === 'string' ? new Date(value) : null;
  if (parsed === null || Number.isNaN(parsed.getTime())) throw failed(value, 'date', 'no such date');
  return parsed;
}

function failed(value: unknown, target: Target, why: string): CommandError {
  return new CommandError(
    241,
    `Failed to convert a value of type ${typeName(value)} to ${target} in $convert with no onError value: ${why}`,
  );
}
