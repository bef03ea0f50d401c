/** Projections: which fields are included, excluded or computed. */
import { CommandError } from '../errors.ts';
import { evaluate } from '../expressions/expressions.ts';
import type { Scope } from '../expressions/scope.ts';
import { matcher } from './match.ts';
import { define, leaves } from '../paths.ts';
import { isDoc, numberType, toNumber, truthy, type Doc } from '../values.ts';

/** How to project a field: include, exclude, compute, or the rules of its nested fields. */
type Choice = boolean | { compute: (doc: unknown, root: Doc) => unknown } | { within: Map<string, Choice> };

/** Compiles a projection. @throws CommandError if it both includes and excludes fields */
export function projector(projection: Doc, scope: Omit<Scope, 'root'>): (doc: Doc) => Doc {
  const tree = new Map<string, Choice>();
  fill(tree, projection, [], scope);
  const { _id, ...others } = projection;
  const including = inclusive(others) ?? (_id !== undefined && inclusive({ id: _id }) === true);
  if (including && !tree.has('_id')) tree.set('_id', true);
  return (doc) => (including ? include(doc, tree, doc) : exclude(doc, tree, doc)) as Doc;
}

const isFlag = (value: unknown): boolean => typeof value === 'boolean' || numberType(value) !== null;
const isOperator = (value: unknown): value is Doc => isDoc(value) && Object.keys(value)[0]?.startsWith('$') === true;

/** True if the projection includes fields, false if it excludes them, null if neither (`$slice` alone). */
function inclusive(projection: Doc): boolean | null {
  let said: boolean | null = null;
  const say = (value: boolean, field: string): void => {
    if (said !== null && said !== value)
      throw new CommandError(
        31254,
        `Cannot do ${value ? 'inclusion' : 'exclusion'} on field ${field} in ${value ? 'exclusion' : 'inclusion'} projection`,
      );
    said = value;
  };
  for (const [field, value] of Object.entries(projection)) {
    if (isFlag(value)) say(truthy(value), field);
    else if (isDoc(value) && !isOperator(value)) {
      const inner = inclusive(value);
      if (inner !== null) say(inner, field);
    } else if (!isOperator(value) || !('$slice' in value && isFind(value['$slice']))) say(true, field);
  }
  return said;
}

/** `$slice` in find takes one or two numbers; the expression of that name takes an array first. */
const isFind = (operand: unknown): boolean =>
  numberType(operand) !== null || (Array.isArray(operand) && operand.every((item) => numberType(item) !== null));

function fill(tree: Map<string, Choice>, projection: Doc, above: string[], scope: Omit<Scope, 'root'>): void {
  for (const [dotted, value] of Object.entries(projection)) {
    const path = dotted.split('.');
    if (path.some((field) => field === '' || field === '$'))
      throw new CommandError(31249, `Path '${dotted}' is not supported in a projection`);
    let here = tree;
    for (const field of path.slice(0, -1)) {
      const next = here.get(field);
      if (next === undefined) here.set(field, { within: new Map() });
      else if (typeof next === 'boolean' || 'compute' in next) throw new CommandError(31250, `Path collision at ${dotted}`);
      here = (here.get(field) as { within: Map<string, Choice> }).within;
    }
    const last = path.at(-1)!;
    if (here.has(last)) throw new CommandError(31250, `Path collision at ${dotted}`);
    if (isDoc(value) && !isOperator(value) && Object.keys(value).length > 0) {
      const within = new Map<string, Choice>();
      here.set(last, { within });
      fill(within, value, [...above, ...path], scope);
    } else here.set(last, isFlag(value) ? truthy(value) : { compute: computation(value, scope) });
  }
}

function computation(value: unknown, scope: Omit<Scope, 'root'>): (current: unknown, root: Doc) => unknown {
  if (isOperator(value) && '$slice' in value && isFind(value['$slice'])) {
    const [first, second] = (Array.isArray(value['$slice']) ? value['$slice'] : [value['$slice']]).map(toNumber) as [number, number?];
    return (current) => {
      if (!Array.isArray(current)) return current;
      if (second === undefined) return first >= 0 ? current.slice(0, first) : current.slice(first);
      const start = first >= 0 ? first : Math.max(0, current.length + first);
      return current.slice(start, start + second);
    };
  }
  if (isOperator(value) && '$elemMatch' in value) {
    const condition = value['$elemMatch'] as Doc;
    const test = matcher({ item: { $elemMatch: condition } }, scope);
    return (current) => {
      const found = Array.isArray(current) ? current.find((item) => test({ item: [item] })) : undefined;
      return found === undefined ? undefined : [found];
    };
  }
  return (_, root) => evaluate(value, { ...scope, root });
}

function include(value: unknown, tree: Map<string, Choice>, root: Doc): unknown {
  if (Array.isArray(value)) return value.filter((item) => isDoc(item) || Array.isArray(item)).map((item) => include(item, tree, root));
  if (!isDoc(value)) return undefined;
  const result: Doc = {};
  for (const [field, inner] of Object.entries(value)) {
    const choice = tree.get(field);
    if (choice === true) define(result, field, inner);
    else if (typeof choice === 'object' && 'within' in choice) put(result, field, include(inner, choice.within, root));
  }
  compute(result, value, tree, root);
  return result;
}

function exclude(value: unknown, tree: Map<string, Choice>, root: Doc): unknown {
  if (Array.isArray(value)) return value.map((item) => exclude(item, tree, root));
  if (!isDoc(value)) return value;
  const result: Doc = {};
  for (const [field, inner] of Object.entries(value)) {
    const choice = tree.get(field);
    if (choice === undefined || choice === true) define(result, field, inner);
    else if (typeof choice === 'object')
      put(result, field, 'within' in choice ? exclude(inner, choice.within, root) : choice.compute(inner, root));
  }
  return result;
}

/** Computed fields come after existing ones, also inside a document that does not exist yet. */
function compute(result: Doc, source: Doc, tree: Map<string, Choice>, root: Doc): void {
  for (const [field, choice] of tree) {
    if (typeof choice !== 'object') continue;
    if ('compute' in choice) put(result, field, choice.compute(source[field], root));
    else if (!isDoc(result[field]) && !Array.isArray(result[field])) {
      const inner: Doc = {};
      compute(inner, {}, choice.within, root);
      if (Object.keys(inner).length > 0) define(result, field, inner);
    }
  }
}

function put(doc: Doc, field: string, value: unknown): void {
  if (value !== undefined) define(doc, field, value);
}

/** The values at a path for `distinct`: arrays yield their items. */
export function spreadValues(doc: Doc, dotted: string): unknown[] {
  return leaves(doc, dotted.split('.'))
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter((value) => value !== undefined);
}
