/** Evaluates a schema's CEL rules (`x-kubernetes-validations`), including transition rules (`oldSelf`). */
import { Environment, Optional } from '@marcbachmann/cel-js';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../../platform/errors.ts';
import { addFunctions, messageOf, withOwnFunctions } from './cel-library.ts';
import { fieldPath } from './prune.ts';
import { shown, type Cause } from '../status.ts';
import type { Json, JsonObject, Schema, ValidationRule } from '../types.ts';

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
