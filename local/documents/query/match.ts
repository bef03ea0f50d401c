/** Query filters. */
import { CommandError } from '../errors.ts';
import { evaluate } from '../expressions/expressions.ts';
import type { Scope } from '../expressions/scope.ts';
import { leaves } from '../paths.ts';
import { compare, isDoc, keyOf, numberType, toNumber, truthy, typeName, typeOrder, type Doc } from '../values.ts';

export type Predicate = (doc: Doc) => boolean;
/** Tests the values at a path. */
type Test = (found: unknown[]) => boolean;

/** Compiles a filter to a predicate. @throws CommandError for an unsupported operator */
export function matcher(filter: Doc, scope: Omit<Scope, 'root'>): Predicate {
  const tests = Object.entries(filter).map(([field, condition]) => clause(field, condition, scope));
  return tests.length === 1 ? tests[0]! : (doc) => tests.every((test) => test(doc));
}

function clause(field: string, condition: unknown, scope: Omit<Scope, 'root'>): Predicate {
  if (!field.startsWith('$')) {
    const path = field.split('.');
    const test = conditionTest(condition, scope);
    return (doc) => test(leaves(doc, path));
  }
  switch (field) {
    case '$and': {
      const all = clauses(field, condition, scope);
      return (doc) => all.every((test) => test(doc));
    }
    case '$or': {
      const any = clauses(field, condition, scope);
      return (doc) => any.some((test) => test(doc));
    }
    case '$nor': {
      const none = clauses(field, condition, scope);
      return (doc) => !none.some((test) => test(doc));
    }
    case '$expr':
      return (doc) => truthy(evaluate(condition, { ...scope, root: doc }));
    case '$comment':
      return () => true;
    default:
      throw new CommandError(2, `unknown top level operator: ${field}`);
  }
}

function clauses(name: string, condition: unknown, scope: Omit<Scope, 'root'>): Predicate[] {
  if (!Array.isArray(condition) || condition.length === 0) throw new CommandError(2, `${name} must be a nonempty array`);
  return condition.map((filter) => {
    if (!isDoc(filter)) throw new CommandError(2, `${name} entries need to be full objects`);
    return matcher(filter, scope);
  });
}

const isOperators = (value: unknown): value is Doc => isDoc(value) && Object.keys(value)[0]?.startsWith('$') === true;

function conditionTest(condition: unknown, scope: Omit<Scope, 'root'>): Test {
  if (!isOperators(condition)) return equality(condition);
  const tests = Object.entries(condition).map(([name, operand]) => operator(name, operand, condition, scope));
  return (found) => tests.every((test) => test(found));
}

/** Each value, and each item of the values that are arrays. */
const some = (found: unknown[], judge: (value: unknown) => boolean): boolean =>
  found.some((value) => judge(value) || (Array.isArray(value) && value.some(judge)));

function equality(wanted: unknown): Test {
  if (wanted instanceof RegExp) return (found) => some(found, (value) => matches(wanted, value));
  if (wanted === null) return (found) => some(found, (value) => value === null || value === undefined);
  return (found) => some(found, (value) => value !== undefined && compare(value, wanted) === 0);
}

function matches(pattern: RegExp, value: unknown): boolean {
  if (value instanceof RegExp) return String(value) === String(pattern);
  return typeof value === 'string' && pattern.test(value);
}

/** Range operators compare only values of the same type; null also matches a missing field. */
function range(limit: unknown, accepts: (order: number) => boolean): Test {
  const place = typeOrder(limit);
  return (found) =>
    some(found, (given) => {
      const value = given === undefined ? null : given;
      if (typeOrder(value) !== place) return false;
      if (numberType(value) !== null && Number.isNaN(toNumber(value)) !== Number.isNaN(toNumber(limit))) return false;
      return accepts(compare(value, limit));
    });
}

function operator(name: string, operand: unknown, siblings: Doc, scope: Omit<Scope, 'root'>): Test {
  switch (name) {
    case '$eq':
      return equality(operand);
    case '$ne':
      return not(equality(operand));
    case '$gt':
      return range(operand, (order) => order > 0);
    case '$gte':
      return range(operand, (order) => order >= 0);
    case '$lt':
      return range(operand, (order) => order < 0);
    case '$lte':
      return range(operand, (order) => order <= 0);
    case '$in':
      return anyOf(name, operand);
    case '$nin':
      return not(anyOf(name, operand));
    case '$not':
      return not(operand instanceof RegExp ? equality(operand) : conditionTest(operand, scope));
    case '$exists':
      return (found) => found.some((value) => value !== undefined) === truthy(operand);
    case '$type':
      return typed(operand);
    case '$size':
      return (found) => found.some((value) => Array.isArray(value) && value.length === toNumber(operand));
    case '$all':
      return all(operand, scope);
    case '$elemMatch':
      return elements(operand, scope);
    case '$mod': {
      const [divisor, rest] = (operand as unknown[]).map(toNumber) as [number, number];
      return (found) => some(found, (value) => numberType(value) !== null && Math.trunc(toNumber(value)) % divisor === rest);
    }
    case '$regex':
      return equality(pattern(operand, siblings['$options']));
    case '$options':
      if (siblings['$regex'] === undefined) throw new CommandError(2, '$options needs a $regex');
      return () => true;
    default:
      throw new CommandError(2, `unknown operator: ${name}`);
  }
}

const not =
  (test: Test): Test =>
  (found) =>
    !test(found);

function anyOf(name: string, operand: unknown): Test {
  if (!Array.isArray(operand)) throw new CommandError(2, `${name} needs an array`);
  const patterns = operand.filter((item) => item instanceof RegExp);
  const keys = new Set(operand.map(keyOf));
  return (found) => some(found, (value) => keys.has(keyOf(value)) || patterns.some((wanted) => matches(wanted, value)));
}

function pattern(source: unknown, flags: unknown): RegExp {
  const given = source instanceof RegExp ? source : null;
  const wanted = typeof flags === 'string' ? flags : (given?.flags ?? '');
  if (/[^imsux]/.test(wanted) || wanted.includes('x')) throw new CommandError(2, `invalid flag in regex options: ${wanted}`);
  try {
    return new RegExp(given?.source ?? String(source), wanted.replace('u', ''));
  } catch (error) {
    throw new CommandError(2, `Regular expression is invalid: ${(error as Error).message}`);
  }
}

const TYPE_NUMBERS: Readonly<Record<number, string>> = {
  1: 'double', 2: 'string', 3: 'object', 4: 'array', 5: 'binData', 7: 'objectId', 8: 'bool', 9: 'date', 10: 'null', 11: 'regex',
  16: 'int', 17: 'timestamp', 18: 'long', 19: 'decimal', [-1]: 'minKey', 127: 'maxKey',
}; // prettier-ignore

function typed(operand: unknown): Test {
  const names = (Array.isArray(operand) ? operand : [operand]).map((item) =>
    typeof item === 'string' ? item : (TYPE_NUMBERS[toNumber(item)] ?? String(item)),
  );
  const wanted = new Set(names.flatMap((name) => (name === 'number' ? ['int', 'long', 'double', 'decimal'] : [name])));
  return (found) => some(found, (value) => wanted.has(typeName(value)));
}

function all(operand: unknown, scope: Omit<Scope, 'root'>): Test {
  if (!Array.isArray(operand)) throw new CommandError(2, '$all needs an array');
  const tests = operand.map((item) => (isOperators(item) ? conditionTest(item, scope) : equality(item)));
  return (found) => tests.length > 0 && tests.every((test) => test(found));
}

function elements(operand: unknown, scope: Omit<Scope, 'root'>): Test {
  if (!isDoc(operand)) throw new CommandError(2, '$elemMatch needs an Object');
  const first = Object.keys(operand)[0];
  if (first?.startsWith('$') && !['$and', '$or', '$nor', '$expr'].includes(first)) {
    const test = conditionTest(operand, scope);
    return (found) => found.some((value) => Array.isArray(value) && value.some((item) => test([item])));
  }
  const test = matcher(operand, scope);
  return (found) => found.some((value) => Array.isArray(value) && value.some((item) => isDoc(item) && test(item)));
}

/** The equality conditions of a filter that an index can use: path → allowed values. */
export function equalities(filter: Doc, into = new Map<string, unknown[]>()): Map<string, unknown[]> {
  for (const [field, condition] of Object.entries(filter)) {
    if (field === '$and' && Array.isArray(condition)) for (const inner of condition) equalities(inner as Doc, into);
    if (field.startsWith('$')) continue;
    const wanted = !isOperators(condition)
      ? [condition]
      : '$eq' in condition
        ? [condition['$eq']]
        : Array.isArray(condition['$in'])
          ? condition['$in']
          : null;
    if (wanted !== null && !wanted.some((value) => value instanceof RegExp) && !into.has(field)) into.set(field, wanted);
  }
  return into;
}
