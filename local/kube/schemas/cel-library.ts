/** The functions of Kubernetes' CEL that the library lacks, or that differ there from the real API server. */
import { Environment } from '@marcbachmann/cel-js';
import { amountOf } from '../../../platform/kubernetes/quantity.ts';

const QUANTITY = 'kubernetes.Quantity';
const TIMESTAMP = 'google.protobuf.Timestamp';
const DURATION = 'google.protobuf.Duration';

class Quantity {
  readonly amount: number;
  constructor(text: string) {
    const amount = amountOf(text);
    if (amount === null) throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    this.amount = amount;
  }
}

const DURATION_PART = /(\d+\.?\d*|\.\d+)(ns|us|ms|s|m|h)/g;
const UNIT_NS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };
/** Go has no longer duration. */
const LONGEST_NS = 2 ** 63;

const plain = new Environment({ unlistedVariablesAreDyn: true });

/** Go's durations: micro is written in three ways, and there is a longest one. */
function durationOf(text: string): unknown {
  const latin = text.replaceAll(/[µμ]s/g, 'us');
  const unsigned = latin.replace(/^[+-]/, '');
  if (unsigned === '0') return plain.evaluate("duration('0s')");
  const parts = [...unsigned.matchAll(DURATION_PART)];
  const total = parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_NS[unit] ?? 0), 0);
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== unsigned || total >= LONGEST_NS)
    throw new Error("type conversion error from 'string' to 'google.protobuf.Duration'");
  return plain.evaluate('duration(text)', { text: latin });
}

/** Three letters that the database has. ICU has more (BST, PST), which Go does not know. */
const THREE_LETTER_ZONES = new Set(['CET', 'EET', 'EST', 'GMT', 'HST', 'MET', 'MST', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC', 'WET']);

/** Whether Go knows the name. It compares upper and lower case, as far as ICU says which is right. */
function isZone(name: string): boolean {
  if (name.startsWith('SystemV/') || (name.length === 3 && !THREE_LETTER_ZONES.has(name))) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

/** The hour of the day. @throws Error that the real server shows if the zone is unknown */
function hoursIn(at: Date, zone: string): bigint {
  // Go knows this zone without an offset, ICU does not.
  if (zone === '' || zone === 'Factory' || zone === 'Local') return BigInt(at.getUTCHours());
  const [, sign, hours, minutes] = /^([+-]?)(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (hours !== undefined) {
    const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return BigInt(new Date(at.getTime() + (sign === '-' ? -offset : offset)).getUTCHours());
  }
  if (!isZone(zone)) throw new Error(`unknown time zone ${zone}`);
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, hour: 'numeric', hourCycle: 'h23' });
  return BigInt(format.format(at));
}

/** The library does not let its own functions be replaced, so expressions call ours by other names. */
const RENAMED: Readonly<Record<string, string>> = { duration: 'goDuration', getHours: 'goHours' };

/** The expression with the names of the functions below. */
export const withOwnFunctions = (expression: string): string =>
  expression.replaceAll(/\b(duration|getHours)\(/g, (_, name: string) => `${RENAMED[name]}(`);

/** What the real API server says of an error of the library. */
export const messageOf = (error: string): string =>
  /^int\(\) type error: cannot/.test(error) ? "type conversion error from 'string' to 'int'" : error;

export function addFunctions(environment: Environment): Environment {
  return environment
    .registerFunction(
      'string.findAll(string): list<string>',
      (text: string, pattern: string) => text.match(new RegExp(pattern, 'gu')) ?? [],
    )
    .registerFunction('string.replace(string, string): string', (text: string, old: string, by: string) => text.replaceAll(old, () => by))
    .registerType(QUANTITY, Quantity)
    .registerFunction('isQuantity(string): bool', (text: string) => amountOf(text) !== null)
    .registerFunction(`quantity(string): ${QUANTITY}`, (text: string) => new Quantity(text))
    .registerFunction(`${QUANTITY}.compareTo(${QUANTITY}): int`, (a: Quantity, b: Quantity) => BigInt(Math.sign(a.amount - b.amount)))
    .registerFunction(`goDuration(string): ${DURATION}`, durationOf)
    .registerFunction(`${DURATION}.goHours(): int`, (length: { getHours(): bigint }) => length.getHours())
    .registerFunction(`${TIMESTAMP}.goHours(): int`, (at: Date) => BigInt(at.getUTCHours()))
    .registerFunction(`${TIMESTAMP}.goHours(string): int`, hoursIn);
}
