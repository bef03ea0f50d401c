/** Dotted paths: how a filter reads them and how an update writes to them. */
import { CommandError } from './errors.ts';
import { define, isDoc, type Doc } from './values.ts';

const INDEX = /^(0|[1-9]\d*)$/;

/**
 * The values at a filter's path. The path descends into arrays; a number may also be an index. A missing path yields one
 * `undefined`, but nothing if an array on the path contains no documents.
 */
export function leaves(value: unknown, path: readonly string[], from = 0): unknown[] {
  if (from === path.length) return [value];
  const field = path[from]!;
  if (Array.isArray(value)) {
    const found: unknown[] = [];
    for (const item of value) if (isDoc(item)) found.push(...leaves(item, path, from));
    if (INDEX.test(field) && Number(field) < value.length) found.push(...leaves(value[Number(field)], path, from + 1));
    return found;
  }
  if (!isDoc(value) || !Object.hasOwn(value, field)) return [undefined];
  return leaves(value[field], path, from + 1);
}

/** The value at an update's path, in which a number is an array index; `undefined` if there is none. */
export function valueAt(doc: unknown, path: readonly string[]): unknown {
  let value = doc;
  for (const field of path) {
    if (Array.isArray(value)) value = INDEX.test(field) ? value[Number(field)] : undefined;
    else if (isDoc(value) && Object.hasOwn(value, field)) value = value[field];
    else return undefined;
  }
  return value;
}

/**
 * Writes a value at a path of a mutable document and creates missing documents on the path.
 * @throws CommandError if a value on the path is neither a document nor an array
 */
export function writeAt(doc: Doc, path: readonly string[], value: unknown): void {
  let here: Doc | unknown[] = doc;
  path.forEach((field, depth) => {
    const last = depth === path.length - 1;
    const next: unknown = last ? value : (read(here, field) ?? {});
    if (!last && !Array.isArray(next) && !isDoc(next)) throw notViable(path[depth + 1]!, field, next);
    if (Array.isArray(here)) {
      if (!INDEX.test(field)) throw notViable(field, path[depth - 1]!, here);
      while (here.length < Number(field)) here.push(null);
      here[Number(field)] = next;
    } else define(here, field, next);
    if (!last) here = next as Doc | unknown[];
  });
}

/** Removes the value at a path; an array element becomes null. */
export function removeAt(doc: Doc, path: readonly string[]): void {
  const holder = valueAt(doc, path.slice(0, -1));
  const field = path.at(-1)!;
  if (Array.isArray(holder)) {
    if (INDEX.test(field) && Number(field) < holder.length) holder[Number(field)] = null;
  } else if (isDoc(holder)) delete holder[field];
}

const read = (holder: Doc | unknown[], field: string): unknown =>
  Array.isArray(holder) ? holder[Number(field)] : Object.hasOwn(holder, field) ? holder[field] : undefined;

function notViable(field: string, holder: string, value: unknown): CommandError {
  return new CommandError(28, `Cannot create field '${field}' in element {${holder}: ${JSON.stringify(value)}}`);
}
