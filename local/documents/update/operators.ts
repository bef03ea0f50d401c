/** The update operators that the product uses. Each writes to one path of a mutable document. */
import { CommandError } from '../errors.ts';
import { matcher } from '../query/match.ts';
import { removeAt, valueAt, writeAt } from '../paths.ts';
import { compare, copy, isDoc, isOperators, typeName, type Doc } from '../values.ts';

/**
 * Applies one operator to one path.
 * @throws CommandError for an unknown operator, an invalid operand, or a path that cannot be written
 */
export function applyOperator(doc: Doc, name: string, dotted: string, operand: unknown, now: Date): void {
  const path = dotted.split('.');
  if (path.some((field) => field.startsWith('$')))
    throw new CommandError(115, `Positional paths such as '${dotted}' are not supported by the embedded document store.`);
  const current = valueAt(doc, path);
  switch (name) {
    case '$set':
    case '$setOnInsert':
      return writeAt(doc, path, copy(operand));
    case '$unset':
      return removeAt(doc, path);
    case '$inc':
      return writeAt(doc, path, incremented(dotted, current, operand));
    case '$max':
      if (current === undefined || compare(operand, current) > 0) writeAt(doc, path, copy(operand));
      return;
    case '$currentDate':
      return writeAt(doc, path, now);
    case '$push':
      return writeAt(doc, path, pushed(arrayAt(name, dotted, current), operand));
    case '$addToSet': {
      const array = arrayAt(name, dotted, current);
      if (!array.some((item) => compare(item, operand) === 0)) writeAt(doc, path, [...array, copy(operand)]);
      return;
    }
    case '$pull': {
      if (current === undefined) return;
      const isPulled = pulledBy(operand);
      const kept = arrayAt(name, dotted, current).filter((item) => !isPulled(item));
      return writeAt(doc, path, kept);
    }
    default:
      throw new CommandError(9, `Unknown modifier: ${name}`);
  }
}

function incremented(path: string, current: unknown, operand: unknown): number {
  if (typeof operand !== 'number')
    throw new CommandError(14, `Cannot increment with non-numeric argument: {${path}: ${typeName(operand)}}`);
  if (current === undefined) return operand;
  if (typeof current !== 'number')
    throw new CommandError(14, `Cannot apply $inc to a value of non-numeric type. The field '${path}' is of type ${typeName(current)}`);
  return current + operand;
}

function arrayAt(name: string, path: string, current: unknown): unknown[] {
  if (current === undefined) return [];
  if (!Array.isArray(current))
    throw new CommandError(2, `Cannot apply ${name} to a value that is not an array: '${path}' is of type ${typeName(current)}`);
  return current;
}

function pushed(array: readonly unknown[], operand: unknown): unknown[] {
  if (!isDoc(operand) || !('$each' in operand)) return [...array, copy(operand)];
  const { $each, $position = array.length, $slice = Infinity, ...unknown } = operand;
  if (Object.keys(unknown).length > 0) throw new CommandError(2, `Unrecognized clause in $push: ${Object.keys(unknown).join(', ')}`);
  return array.toSpliced($position as number, 0, ...(copy($each) as unknown[])).slice(0, $slice as number);
}

function pulledBy(operand: unknown): (item: unknown) => boolean {
  if (isOperators(operand)) {
    const test = matcher({ item: operand });
    return (item) => test({ item });
  }
  if (!isDoc(operand)) return (item) => compare(item, operand) === 0;
  const test = matcher(operand);
  return (item) => isDoc(item) && test(item);
}
