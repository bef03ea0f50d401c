/** Evaluates a schema's CEL rules (`x-kubernetes-validations`), including transition rules (`oldSelf`). */
import { isDeepStrictEqual } from 'node:util';
import { Environment, Optional } from '@marcbachmann/cel-js';
import { errorMessage } from '../../../platform/errors.ts';
import { type Cause, shown } from '../status.ts';
import type { Json, JsonObject, Schema, ValidationRule } from '../types.ts';
import { amountOf } from '../../../platform/kubernetes/quantity.ts';
import { fieldPath } from './validate.ts';

/** The functions of Kubernetes' CEL that the library lacks, or that differ there from the real API server. */
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
const withOwnFunctions = (expression: string): string =>
  expression.replaceAll(/\b(duration|getHours)\(/g, (_, name: string) => `${RENAMED[name]}(`);

/** What the real API server says of an error of the library. */
const messageOf = (error: string): string =>
  /^int\(\) type error: cannot/.test(error) ? "type conversion error from 'string' to 'int'" : error;

function addFunctions(environment: Environment): Environment {
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

type Program = (context: Record<string, unknown>) => unknown;

const environment = addFunctions(new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true }));
const programs = new Map<string, Program>();

/** Returns the expression as a function of its variables. Compiles each expression once. */
export function compile(expression: string): Program {
  let program = programs.get(expression);
  if (program === undefined) {
    const parsed = environment.parse(withOwnFunctions(expression));
    program = (context) => parsed(context) as unknown;
    programs.set(expression, program);
  }
  return program;
}

/** Validates all rules, so that a definition with an invalid rule is rejected. @throws Error that names the rule */
export function checkRules(schema: Schema, path = ''): void {
  for (const { rule } of schema['x-kubernetes-validations'] ?? []) {
    try {
      compile(rule);
    } catch (cause) {
      throw new Error(`${path === '' ? 'the schema' : path} has an invalid CEL rule: ${rule}`, { cause });
    }
  }
  for (const [key, below] of Object.entries(schema.properties ?? {})) checkRules(below, fieldPath(path, key));
  if (schema.items !== undefined) checkRules(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') checkRules(schema.additionalProperties, `${path}{}`);
}

const ruled = new WeakMap<Schema, boolean>();
/** Whether a schema contains any rule. */
export function hasRules(schema: Schema): boolean {
  let known = ruled.get(schema);
  if (known === undefined) {
    known =
      (schema['x-kubernetes-validations']?.length ?? 0) > 0 ||
      Object.values(schema.properties ?? {}).some(hasRules) ||
      (schema.items !== undefined && hasRules(schema.items)) ||
      (typeof schema.additionalProperties === 'object' && hasRules(schema.additionalProperties));
    ruled.set(schema, known);
  }
  return known;
}

/** Converts a value to CEL: integers to ints by the schema, times to timestamps. */
function celValue(value: Json | undefined, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema.items ?? {}));
  if (typeof value === 'object' && value !== null) {
    const below = (key: string): Schema =>
      schema.properties?.[key] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {});
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, item]) => item !== undefined && item !== null)
        .map(([key, item]) => [key, celValue(item, below(key))]),
    );
  }
  if (typeof value === 'number' && schema.type !== 'number' && Number.isInteger(value)) return BigInt(value);
  if (typeof value === 'string' && schema.format === 'date-time') return new Date(value);
  return value;
}

const optional = (value: unknown): Optional => (value === undefined ? Optional.none() : Optional.of(value));

/** The start of the message, by the reason of a failed rule. */
const REASONS: Record<string, string> = {
  FieldValueInvalid: 'Invalid value: ',
  FieldValueForbidden: 'Forbidden: ',
  FieldValueRequired: 'Required value: ',
  FieldValueDuplicate: 'Duplicate value: ',
};

/**
 * The causes of the failed rules of `schema` and its nested schemas.
 * @param old the previous value; undefined on create or if it was absent. Rules with `oldSelf` are skipped then
 */
export function brokenRules(value: Json | undefined, old: Json | undefined, schema: Schema, path: string): Cause[] {
  if (value === undefined || value === null || !hasRules(schema)) return [];
  const found = (schema['x-kubernetes-validations'] ?? []).flatMap((rule) => evaluate(rule, value, old, schema, path));
  if (Array.isArray(value)) {
    const { items } = schema;
    const keys = schema['x-kubernetes-list-map-keys'];
    if (items === undefined) return found;
    const before = (item: Json): Json | undefined =>
      keys === undefined || !Array.isArray(old)
        ? undefined
        : old.find((other) => keys.every((key) => (other as JsonObject)[key] === (item as JsonObject)[key]));
    return [...found, ...value.flatMap((item, index) => brokenRules(item, before(item), items, `${path}[${index}]`))];
  }
  if (typeof value !== 'object') return found;
  const was = typeof old === 'object' && old !== null && !Array.isArray(old) ? old : {};
  for (const [key, item] of Object.entries(value)) {
    const { properties, additionalProperties } = schema;
    const below = properties?.[key] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    const inner = properties?.[key] === undefined ? `${path}[${key}]` : fieldPath(path, key);
    if (below !== undefined) found.push(...brokenRules(item, was[key], below, inner));
  }
  return found;
}

function evaluate(rule: ValidationRule, value: Json, old: Json | undefined, schema: Schema, path: string): Cause[] {
  const isTransition = /\boldSelf\b/.test(rule.rule);
  if (isTransition && old === undefined && rule.optionalOldSelf !== true) return [];
  const context: Record<string, unknown> = { self: celValue(value, schema) };
  const oldSelf = old === undefined ? undefined : celValue(old, schema);
  if (isTransition) context['oldSelf'] = rule.optionalOldSelf === true ? optional(oldSelf) : oldSelf;
  const field = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '') || '<nil>';
  const reason = rule.reason ?? 'FieldValueInvalid';
  try {
    if (compile(rule.rule)(context) === true) return [];
  } catch (error) {
    const why = messageOf(errorMessage(error).split('\n')[0] ?? '');
    const message = `Invalid value: ${shown(schema.type ?? '')}: ${why} evaluating rule: ${rule.message ?? rule.rule}`;
    return [{ reason: 'FieldValueInvalid', message, field }];
  }
  // A rule that is newer than the object does not refuse what an update leaves as it is. Its errors do, on the real server too.
  if (!isTransition && old !== undefined && isDeepStrictEqual(value, old)) return [];
  const message = rule.message ?? `failed rule: ${rule.rule}`;
  // Only scalar values are shown.
  const scalar = reason === 'FieldValueInvalid' && typeof value !== 'object' ? `${shown(value)}: ` : '';
  return [{ reason, message: `${REASONS[reason] ?? ''}${scalar}${message}`, field }];
}
