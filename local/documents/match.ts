/** Query filters. */
import { CommandError } from './errors.ts';
import { leaves } from './paths.ts';
import { compare, isDoc, isOperators, keyOf, truthy, typeName, type Doc } from './values.ts';

export type Predicate = (doc: Doc) => boolean;
/** Tests the values at a path. */
type Test = (found: unknown[]) => boolean;

/** Compiles a filter to a predicate. @throws CommandError for an unsupported operator */
export function matcher(filter: Doc): Predicate {
  const tests = Object.entries(filter).map(([field, condition]) => clause(field, condition));
  return tests.length === 1 ? tests[0]! : (doc) => tests.every((test) => test(doc));
}

function clause(field: string, condition: unknown): Predicate {
  if (!field.startsWith('$')) {
    const path = field.split('.');
    const test = conditionTest(condition);
    return (doc) => test(leaves(doc, path));
  }
  if (!['$and', '$or', '$nor'].includes(field)) throw new CommandError(2, `unknown top level operator: ${field}`);
  if (!Array.isArray(condition) || condition.length === 0) throw new CommandError(2, `${field} must be a nonempty array`);
  const tests = condition.map((filter) => {
    if (!isDoc(filter)) throw new CommandError(2, `${field} entries need to be full objects`);
    return matcher(filter);
  });
  if (field === '$and') return (doc) => tests.every((test) => test(doc));
  return (doc) => tests.some((test) => test(doc)) === (field === '$or');
}

function conditionTest(condition: unknown): Test {
  if (!isOperators(condition)) return equality(condition);
  const tests = Object.entries(condition).map(([name, operand]) => operator(name, operand, condition));
  return (found) => tests.every((test) => test(found));
}

/** Each value, and each item of the values that are arrays. */
const some = (found: unknown[], judge: (value: unknown) => boolean): boolean =>
  found.some((value) => judge(value) || (Array.isArray(value) && value.some(judge)));

function equality(wanted: unknown): Test {
  if (wanted instanceof RegExp) return (found) => some(found, (value) => typeof value === 'string' && wanted.test(value));
  if (wanted === null) return (found) => some(found, (value) => value === null || value === undefined);
  return (found) => some(found, (value) => value !== undefined && compare(value, wanted) === 0);
}

/** Range operators compare only values of the same type; null also matches a missing field. */
function range(limit: unknown, accepts: (order: number) => boolean): Test {
  const type = typeName(limit);
  return (found) =>
    some(found, (given) => {
      const value = given === undefined ? null : given;
      if (typeName(value) !== type || Number.isNaN(value) !== Number.isNaN(limit)) return false;
      return accepts(compare(value, limit));
    });
}

function operator(name: string, operand: unknown, siblings: Doc): Test {
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
    case '$exists':
      return (found) => found.some((value) => value !== undefined) === truthy(operand);
    case '$regex':
      return equality(new RegExp(String(operand), siblings['$options'] as string | undefined));
    case '$options':
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
  const keys = new Set(operand.map(keyOf));
  return (found) => some(found, (value) => keys.has(keyOf(value)));
}

/** The equality conditions of a filter that an index can use: path → allowed values. */
export function equalities(filter: Doc, into = new Map<string, unknown[]>()): Map<string, unknown[]> {
  for (const [field, condition] of Object.entries(filter)) {
    if (field === '$and' && Array.isArray(condition)) for (const inner of condition) equalities(inner as Doc, into);
    if (field.startsWith('$')) continue;
    const wanted = allowedBy(condition);
    if (wanted !== null && !into.has(field)) into.set(field, wanted);
  }
  return into;
}

function allowedBy(condition: unknown): unknown[] | null {
  if (condition instanceof RegExp) return null;
  if (!isOperators(condition)) return [condition];
  if ('$eq' in condition) return [condition['$eq']];
  return Array.isArray(condition['$in']) ? condition['$in'] : null;
}
