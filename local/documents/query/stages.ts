/** Aggregation pipelines: the stages that the product uses are our own, rarer ones use mingo. */
import { Aggregator } from 'mingo/aggregator';
import { Context } from 'mingo/core';
import * as accumulators from 'mingo/operators/accumulator';
import * as expressions from 'mingo/operators/expression';
import * as pipeline from 'mingo/operators/pipeline';
import * as projections from 'mingo/operators/projection';
import * as queries from 'mingo/operators/query';
import type { Options } from 'mingo/types';
import { CommandError } from '../errors.ts';
import { evaluate } from '../expressions/expressions.ts';
import { group } from './group.ts';
import { isEqualityLookup, lookup, type Find } from './lookup.ts';
import { matcher } from './match.ts';
import { define, leaves, removeAt } from '../paths.ts';
import { projector } from './projection.ts';
import { compare, copy, isDoc, numberType, toNumber, typeName, type Doc } from '../values.ts';

export interface StageContext {
  now: Date;
  /** Finds documents of another collection of the same database, for `$lookup`. Default: other collections are empty. */
  find?: Find;
}

/** Runs a pipeline over documents without changing them. @throws CommandError */
export function runStages(docs: readonly Doc[], stages: readonly Doc[], context: StageContext): Doc[] {
  return stages.reduce<readonly Doc[]>((current, stage) => {
    const names = Object.keys(stage);
    if (names.length !== 1) throw new CommandError(40323, 'A pipeline stage specification object must contain exactly one field.');
    return run(current, names[0]!, stage[names[0]!], context);
  }, docs) as Doc[];
}

function run(docs: readonly Doc[], name: string, operand: unknown, context: StageContext): readonly Doc[] {
  const scope = { now: context.now };
  switch (name) {
    case '$match':
      return docs.filter(matcher(operand as Doc, scope));
    case '$sort':
      return [...docs].sort(sorter(operand as Doc));
    case '$limit':
      return docs.slice(0, count(name, operand, 1));
    case '$skip':
      return docs.slice(count(name, operand, 0));
    case '$count':
      return docs.length === 0 ? [] : [{ [operand as string]: docs.length }];
    case '$project':
      return docs.map(projector(operand as Doc, scope));
    case '$unset':
      return docs.map(without(operand));
    case '$set':
    case '$addFields':
      return docs.map((doc) => withFields(doc, operand as Doc, (expression) => evaluate(expression, { ...scope, root: doc })));
    case '$replaceRoot':
      return docs.map((doc) => root(evaluate((operand as Doc)['newRoot'], { ...scope, root: doc })));
    case '$replaceWith':
      return docs.map((doc) => root(evaluate(operand, { ...scope, root: doc })));
    case '$group':
      return group(docs, operand as Doc, context.now);
    case '$sortByCount':
      return [...group(docs, { _id: operand, count: { $sum: 1 } }, context.now)].sort(sorter({ count: -1 }));
    case '$unwind':
      return docs.flatMap(unwound(operand));
    case '$lookup':
      if (isEqualityLookup(operand)) return lookup(docs, operand as Doc, context.find ?? (() => []));
      return borrowed(docs, name, operand, context);
    default:
      return borrowed(docs, name, operand, context);
  }
}

/** Compares documents by a sort specification of find or `$sort`. */
export function sorter(specification: Doc): (a: unknown, b: unknown) => number {
  const keys = Object.entries(specification).map(([field, direction]) => {
    const sign = numberType(direction) === null ? 0 : toNumber(direction);
    if (sign !== 1 && sign !== -1) throw new CommandError(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)');
    return { path: field.split('.'), sign };
  });
  return (a, b) => {
    for (const { path, sign } of keys) {
      const order = compare(sortValue(a, path, sign), sortValue(b, path, sign));
      if (order !== 0) return sign * order;
    }
    return 0;
  };
}

/** An array is sorted by its least item in ascending and its greatest in descending order; missing sorts as null. */
function sortValue(doc: unknown, path: readonly string[], sign: number): unknown {
  const found = leaves(doc, path).flatMap((value) => (Array.isArray(value) && value.length > 0 ? (value as unknown[]) : [value]));
  if (found.length === 0) return null;
  return found.map((value) => value ?? null).reduce((best, value) => (sign * compare(value, best) < 0 ? value : best));
}

function count(name: string, operand: unknown, least: number): number {
  if (numberType(operand) === null || !Number.isInteger(toNumber(operand)) || toNumber(operand) < least)
    throw new CommandError(15958, `the argument of ${name} must be an integer of at least ${least}`);
  return toNumber(operand);
}

const without =
  (operand: unknown) =>
  (doc: Doc): Doc => {
    const result = copy(doc);
    for (const path of Array.isArray(operand) ? (operand as string[]) : [operand as string]) removeAt(result, path.split('.'));
    return result;
  };

/** `$set`: a document is merged into the existing one, and a missing value removes the field. */
function withFields(doc: Doc, fields: Doc, value: (expression: unknown) => unknown): Doc {
  const changes = Object.entries(fields).map(([field, expression]) => [field.split('.'), computed(expression, value)] as const);
  return changes.reduce((current, [path, change]) => merged(current, path, change) as Doc, doc);
}

type Computed = { value: unknown } | { fields: [string, Computed][] };

function computed(expression: unknown, value: (expression: unknown) => unknown): Computed {
  if (!isDoc(expression) || Object.keys(expression).length === 0 || Object.keys(expression)[0]!.startsWith('$'))
    return { value: value(expression) };
  return { fields: Object.entries(expression).map(([field, inner]) => [field, computed(inner, value)]) };
}

function merged(current: unknown, path: readonly string[], change: Computed): unknown {
  if (path.length === 0 && 'value' in change) return change.value;
  if (Array.isArray(current)) return current.map((item) => merged(item, path, change));
  const result: Doc = isDoc(current) ? { ...current } : {};
  const changes: [readonly string[], Computed][] =
    path.length === 0
      ? (change as { fields: [string, Computed][] }).fields.map(([field, inner]) => [field.split('.'), inner])
      : [[path, change]];
  for (const [[field, ...rest], inner] of changes) {
    const value = merged(Object.hasOwn(result, field!) ? result[field!] : undefined, rest, inner);
    if (value === undefined) delete result[field!];
    else define(result, field!, value);
  }
  return result;
}

function root(value: unknown): Doc {
  if (!isDoc(value))
    throw new CommandError(40228, `'newRoot' expression must evaluate to an object, but resulting value was of type: ${typeName(value)}`);
  return value;
}

const unwound =
  (operand: unknown) =>
  (doc: Doc): Doc[] => {
    const options = isDoc(operand) ? operand : { path: operand };
    const path = String(options['path']).slice(1).split('.');
    const index = options['includeArrayIndex'] as string | undefined;
    const [value] = leaves(doc, path);
    const give = (item: unknown, position: number | null): Doc => {
      const result = merged(doc, path, { value: item }) as Doc;
      const place = position === null ? null : BigInt(position);
      return index === undefined ? result : (merged(result, index.split('.'), { value: place }) as Doc);
    };
    if (Array.isArray(value) && value.length > 0) return value.map(give);
    if (value === undefined || value === null || Array.isArray(value)) return options['preserveNullAndEmptyArrays'] === true ? [doc] : [];
    return [give(value, null)];
  };

const context = Context.init()
  .addAccumulatorOps(accumulators)
  .addExpressionOps(expressions)
  .addPipelineOps(pipeline)
  .addProjectionOps(projections)
  .addQueryOps(queries);
const MINGO_STAGES = new Set(['$lookup', '$facet', '$bucket', '$bucketAuto', '$graphLookup', '$redact', '$sample', '$unionWith']);

function borrowed(docs: readonly Doc[], name: string, operand: unknown, { find }: StageContext): Doc[] {
  if (!MINGO_STAGES.has(name)) throw new CommandError(40324, `Unrecognized pipeline stage name: '${name}'`);
  const collectionResolver = find && ((other: string) => find(other, {}));
  const options = { context, scriptEnabled: false, collectionResolver } as unknown as Options;
  try {
    return new Aggregator([{ [name]: operand } as never], options).run<Doc>(docs.map(copy));
  } catch (error) {
    throw new CommandError(2, `${name}: ${(error as Error).message}`);
  }
}
