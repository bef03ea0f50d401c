/** Checks the number and types of an operator's operands. */
import { CommandError } from '../errors.ts';
import { evaluate, type Inner } from './scope.ts';
import { isDoc, numberType, toNumber, typeName, type Doc } from '../values.ts';

export const nullish = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Evaluates operands; missing values stay undefined. A single operand may be given without an array. */
export function items(name: string, operand: unknown, scope: Inner, atLeast = 0, atMost = Infinity): unknown[] {
  const list = Array.isArray(operand) ? operand : [operand];
  if (list.length < atLeast || list.length > atMost)
    throw new CommandError(
      16020,
      `Expression ${name} takes ${atLeast === atMost ? `exactly ${atLeast}` : `at least ${atLeast} and at most ${atMost}`} arguments. ${list.length} were passed in.`,
    );
  return list.map((item) => evaluate(item, scope));
}

export function list(name: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new CommandError(17124, `The argument to ${name} must be an array, but was of type: ${typeName(value)}`);
  return value;
}

export function integer(name: string, value: unknown): number {
  if (numberType(value) === null || !Number.isInteger(toNumber(value)))
    throw new CommandError(28690, `${name} needs a value that is an integer, not ${typeName(value)}`);
  return toNumber(value);
}

export function number(name: string, value: unknown): unknown {
  if (numberType(value) === null) throw new CommandError(28765, `${name} only supports numeric types, not ${typeName(value)}`);
  return value;
}

export function fields(name: string, operand: unknown, ...known: string[]): Doc {
  if (!isDoc(operand)) throw new CommandError(28646, `${name} only supports an object as its argument`);
  for (const field of Object.keys(operand))
    if (!known.includes(field)) throw new CommandError(28647, `Unrecognized parameter to ${name}: ${field}`);
  return operand;
}

export const bound = (scope: Inner, variables: Record<string, unknown>): Inner => ({
  ...scope,
  variables: { ...scope.variables, ...variables },
});

/** If the only operand is an array, its items are the operands. */
export const spread = (values: unknown[]): unknown[] => (values.length === 1 && Array.isArray(values[0]) ? values[0] : values);
