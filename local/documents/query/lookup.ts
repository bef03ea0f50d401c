/**
 * `$lookup` with `localField` and `foreignField`, which is MongoDB's equality match. The form with `pipeline` is mingo's.
 *
 * As MongoDB documents it: a document of which the local field is missing matches documents whose foreign field is null or
 * missing, an array matches if one of its items does, and a collection that does not exist is empty.
 */
import { CommandError } from '../errors.ts';
import { define, leaves } from '../paths.ts';
import { copy, isDoc, typeName, type Doc } from '../values.ts';

/** Finds the documents of another collection of the same database that match a filter. */
export type Find = (collection: string, filter: Doc) => Doc[];

interface EqualityLookup {
  from: string;
  localField: string;
  foreignField: string;
  as: string;
}

const FIELDS = ['from', 'localField', 'foreignField', 'as'] as const;

/** Whether the operand of `$lookup` has the form that `lookup` runs. */
export const isEqualityLookup = (operand: unknown): boolean => isDoc(operand) && !('pipeline' in operand) && !('let' in operand);

/** Adds the matching documents of another collection to each document. @throws CommandError if the operand is invalid */
export function lookup(docs: readonly Doc[], operand: Doc, find: Find): Doc[] {
  const { from, localField, foreignField, as } = parse(operand);
  return docs.map((doc) => {
    const wanted = leaves(doc, localField.split('.')).flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value ?? null]));
    // `$in` would take it for a pattern, but `$lookup` compares it as a value.
    if (wanted.some((value) => value instanceof RegExp))
      throw new CommandError(2, '$lookup by a regular expression is not supported by the embedded document store.');
    return withField(doc, as.split('.'), find(from, { [foreignField]: { $in: wanted } }).map(copy));
  });
}

function parse(operand: Doc): EqualityLookup {
  for (const field of Object.keys(operand))
    if (!FIELDS.includes(field as keyof EqualityLookup)) throw new CommandError(9, `unknown argument to $lookup: ${field}`);
  for (const field of FIELDS) {
    if (!(field in operand)) throw new CommandError(9, `must specify '${field}' field for a $lookup`);
    if (typeof operand[field] !== 'string')
      throw new CommandError(9, `$lookup argument '${field}' must be a string, is type ${typeName(operand[field])}`);
  }
  return operand as unknown as EqualityLookup;
}

/** A copy of the document with a field at a dotted path, which replaces what was there. */
function withField(doc: Doc, [field, ...rest]: readonly string[], value: Doc[]): Doc {
  const result = { ...doc };
  const inner = result[field!];
  define(result, field!, rest.length === 0 ? value : withField(isDoc(inner) ? inner : {}, rest, value));
  return result;
}
