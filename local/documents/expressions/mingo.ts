/** Expression operators of mingo (strings, dates, sets, mathematics), applied to operands that we have evaluated. */
import { Context } from 'mingo/core';
import * as mingoExpressions from 'mingo/operators/expression';
import type { Options } from 'mingo/types';
import { CommandError } from '../errors.ts';
import { evaluate, type Inner } from './scope.ts';
import { isDoc, numberType, toNumber } from '../values.ts';

/** Operators that are newer than MongoDB 4.4 or run code. They are rejected, because they would fail there. */
const NOT_IN_4_4 = new Set(
  (
    '$getField $setField $unsetField $dateAdd $dateSubtract $dateDiff $dateTrunc $sampleRate $sortArray $firstN $lastN $maxN $minN ' +
    '$topN $bottomN $median $percentile $bitAnd $bitOr $bitXor $bitNot $tsSecond $tsIncrement $toUUID $sigmoid $toHashedIndexKey ' +
    '$function $accumulator $covariancePop $covarianceSamp $denseRank $rank $documentNumber $shift $derivative $integral $expMovingAvg'
  ).split(' '),
);

type Lent = (doc: unknown, operand: unknown, options: Options) => unknown;
const lent = mingoExpressions as unknown as Record<string, Lent>;
const { $literal, ...rest } = mingoExpressions;
const context = Context.init().addExpressionOps({ $literal, ...rest } as never);

/** Runs an operator of mingo. @throws CommandError if MongoDB 4.4 does not have it */
export function borrowed(name: string, operand: unknown, scope: Inner): unknown {
  const operator = Object.hasOwn(lent, name) && !NOT_IN_4_4.has(name) ? lent[name] : undefined;
  if (operator === undefined) {
    const later = NOT_IN_4_4.has(name) ? ' (it is not part of MongoDB 4.4)' : '';
    throw new CommandError(168, `Unrecognized expression '${name}'${later}`);
  }
  const options = {
    context,
    idKey: '_id',
    processingMode: 0,
    useStrictMode: true,
    scriptEnabled: false,
    failOnError: true,
  } as unknown as Options;
  try {
    return operator(scope.root, literals(operand, scope), options);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(2, `${name}: ${(error as Error).message}`);
  }
}

/** Operands as literals, after evaluation. mingo supports only JavaScript numbers. */
function literals(operand: unknown, scope: Inner): unknown {
  const literal = (item: unknown): unknown => ({ $literal: plain(evaluate(item, scope)) });
  if (Array.isArray(operand)) return operand.map(literal);
  if (isDoc(operand) && !Object.keys(operand)[0]?.startsWith('$'))
    return Object.fromEntries(Object.entries(operand).map(([field, item]) => [field, literal(item)]));
  return literal(operand);
}

function plain(value: unknown): unknown {
  if (numberType(value) !== null) return toNumber(value);
  if (value instanceof Date) return new Date(value); // mingo changes dates in place
  return Array.isArray(value) ? value.map(plain) : value;
}
