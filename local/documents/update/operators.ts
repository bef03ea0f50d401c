/** The update operators. Each writes to one path of a mutable document. */
import { CommandError } from '../errors.ts';
import { matcher } from '../query/match.ts';
import { removeAt, valueAt, writeAt } from '../paths.ts';
import { sorter } from '../query/stages.ts';
import { arithmetic, compare, copy, isDoc, numberType, toNumber, typeName, type Doc } from '../values.ts';

/**
 * Applies one operator to one path.
 * @throws CommandError for an unknown operator, an invalid operand, or a path that cannot be written
 */
export function applyOperator(doc: Doc, name: string, dotted: string, operand: unknown, now: Date): void {
  const path = dotted.split('.');
  if (path.some((field) => field === '')) throw new CommandError(56, `The update path '${dotted}' contains an empty field name.`);
  if (path.some((field) => field === '$' || field.startsWith('$[')))
    throw new CommandError(
      115,
      `Positional paths such as '${dotted}' are not supported by the embedded document store; use an update pipeline.`,
    );
  const current = valueAt(doc, path);
  switch (name) {
    case '$set':
    case '$setOnInsert':
      return writeAt(doc, path, copy(operand));
    case '$unset':
      return removeAt(doc, path);
    case '$inc':
      return writeAt(doc, path, counted(name, '+', dotted, current, operand, operand));
    case '$mul':
      return writeAt(
        doc,
        path,
        counted(name, '*', dotted, current, operand, arithmetic('*', 0, numberType(operand) === null ? 0 : operand)),
      );
    case '$min':
      if (current === undefined || compare(operand, current) < 0) writeAt(doc, path, copy(operand));
      return;
    case '$max':
      if (current === undefined || compare(operand, current) > 0) writeAt(doc, path, copy(operand));
      return;
    case '$currentDate':
      if (isDoc(operand) && operand['$type'] === 'timestamp')
        throw new CommandError(115, '$currentDate to a timestamp is not supported by the embedded document store.');
      return writeAt(doc, path, now);
    case '$rename':
      if (typeof operand !== 'string') throw new CommandError(2, `The 'to' field for $rename must be a string: ${dotted}`);
      if (current === undefined) return;
      removeAt(doc, path);
      return writeAt(doc, operand.split('.'), current);
    case '$push':
      return writeAt(doc, path, pushed(dotted, current, operand));
    case '$addToSet':
      return writeAt(doc, path, united(dotted, current, operand));
    case '$pop': {
      const array = arrayAt('$pop', dotted, current);
      if (array !== null) writeAt(doc, path, toNumber(operand) < 0 ? array.slice(1) : array.slice(0, -1));
      return;
    }
    case '$pull': {
      const array = arrayAt('$pull', dotted, current);
      if (array === null) return;
      const goes = pulled(operand, now);
      return writeAt(
        doc,
        path,
        array.filter((item) => !goes(item)),
      );
    }
    case '$pullAll': {
      const array = arrayAt('$pullAll', dotted, current);
      const goes = operand as unknown[];
      if (array !== null)
        writeAt(
          doc,
          path,
          array.filter((item) => !goes.some((value) => compare(item, value) === 0)),
        );
      return;
    }
    default:
      throw new CommandError(9, `Unknown modifier: ${name}`);
  }
}

function counted(name: string, operation: '+' | '*', path: string, current: unknown, operand: unknown, first: unknown): unknown {
  if (numberType(operand) === null) throw new CommandError(14, `Cannot ${name} with non-numeric argument: {${path}: ${typeName(operand)}}`);
  if (current === undefined) return first;
  if (numberType(current) === null)
    throw new CommandError(14, `Cannot apply ${name} to a value of non-numeric type. The field '${path}' is of type ${typeName(current)}`);
  return arithmetic(operation, current, operand);
}

function arrayAt(name: string, path: string, current: unknown): unknown[] | null {
  if (current === undefined) return null;
  if (!Array.isArray(current))
    throw new CommandError(2, `Cannot apply ${name} to a value that is not an array: '${path}' is of type ${typeName(current)}`);
  return current;
}

const isModified = (operand: unknown): operand is Doc => isDoc(operand) && '$each' in operand;

function pushed(path: string, current: unknown, operand: unknown): unknown[] {
  const array = [...(arrayAt('$push', path, current) ?? [])];
  if (!isModified(operand)) return [...array, copy(operand)];
  const { $each, $position, $sort, $slice, ...unknown } = operand;
  if (Object.keys(unknown).length > 0) throw new CommandError(2, `Unrecognized clause in $push: ${Object.keys(unknown).join(', ')}`);
  const position = $position === undefined ? array.length : toNumber($position);
  array.splice(position, 0, ...(copy($each) as unknown[]));
  if ($sort !== undefined) array.sort(isDoc($sort) ? sorter($sort) : (a, b) => toNumber($sort) * compare(a, b));
  if ($slice === undefined) return array;
  const length = toNumber($slice);
  return length >= 0 ? array.slice(0, length) : array.slice(length);
}

function united(path: string, current: unknown, operand: unknown): unknown[] {
  const array = [...(arrayAt('$addToSet', path, current) ?? [])];
  for (const item of isModified(operand) ? (operand['$each'] as unknown[]) : [operand])
    if (!array.some((present) => compare(present, item) === 0)) array.push(copy(item));
  return array;
}

function pulled(operand: unknown, now: Date): (item: unknown) => boolean {
  if (operand instanceof RegExp || (isDoc(operand) && Object.keys(operand)[0]?.startsWith('$'))) {
    const test = matcher({ item: operand }, { now });
    return (item) => test({ item });
  }
  if (!isDoc(operand)) return (item) => compare(item, operand) === 0;
  const test = matcher(operand, { now });
  return (item) => isDoc(item) && test(item);
}
