/**
 * Stored values and their comparison, in BSON's order. Numbers are JavaScript's, as the product's driver reads them: the store
 * does not distinguish integers from doubles. `undefined` means that the field is missing. Stored documents are never changed
 * in place, so that the collection, its log and open cursors can share them.
 */
import { Binary, ObjectId, deserialize, serialize } from 'bson';

export type Doc = { [field: string]: unknown };

/** An embedded document is neither an array nor one of BSON's own types. */
export function isDoc(value: unknown): value is Doc {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof Date) && !(value instanceof RegExp) && (value as { _bsontype?: string })._bsontype === undefined;
}

/** Whether a value is a document whose first field is an operator, such as `{ $gt: 5 }`. */
export const isOperators = (value: unknown): value is Doc => isDoc(value) && Object.keys(value)[0]?.startsWith('$') === true;

/** Reads one BSON document. */
export const decode = (bytes: Uint8Array): Doc => deserialize(bytes);

/** Writes one BSON document; undefined fields are omitted. */
export const encode = (doc: Doc): Uint8Array => serialize(doc, { ignoreUndefined: true });

const TYPES = ['missing', 'null', 'number', 'string', 'object', 'array', 'binData', 'objectId', 'bool', 'date', 'regex', 'other'] as const;

export function typeName(value: unknown): (typeof TYPES)[number] {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'number' || typeof value === 'bigint') return 'number';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Date) return 'date';
  if (value instanceof RegExp) return 'regex';
  if (value instanceof ObjectId) return 'objectId';
  if (value instanceof Binary) return 'binData';
  return isDoc(value) ? 'object' : 'other';
}

/** BSON's total order over all values: negative, 0 or positive. A missing value comes before null. */
export function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  const type = typeName(a);
  const order = TYPES.indexOf(type) - TYPES.indexOf(typeName(b));
  if (order !== 0) return order;
  switch (type) {
    case 'number':
      return Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(b)) - Number(Number.isNaN(a)) : simple(a as number, b as number);
    case 'array':
      return compareLists(a as unknown[], b as unknown[]);
    case 'date':
      return (a as Date).getTime() - (b as Date).getTime();
    case 'object':
      return compareDocs(a as Doc, b as Doc);
    case 'binData':
      return compareBinaries(a as Binary, b as Binary);
    case 'string':
    case 'bool':
      return simple(a as string, b as string);
    default:
      return simple(String(a), String(b));
  }
}

const simple = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

function compareLists(a: unknown[], b: unknown[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compare(a[i], b[i]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareDocs(a: Doc, b: Doc): number {
  const [x, y] = [present(a), present(b)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [[fieldA, valueA], [fieldB, valueB]] = [x[i]!, y[i]!];
    const order = TYPES.indexOf(typeName(valueA)) - TYPES.indexOf(typeName(valueB)) || simple(fieldA, fieldB) || compare(valueA, valueB);
    if (order !== 0) return order;
  }
  return x.length - y.length;
}

const present = (doc: Doc): [string, unknown][] => Object.entries(doc).filter(([, value]) => value !== undefined);

const compareBinaries = (a: Binary, b: Binary): number =>
  a.position - b.position || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value());

/** Whether two values are equal. Decides whether an update changed anything. */
export const identical = (a: unknown, b: unknown): boolean => compare(a, b) === 0;

/** A string that is the same for two values exactly if they are equal as index keys; missing and null are. */
export function keyOf(value: unknown): string {
  switch (typeName(value)) {
    case 'missing':
    case 'null':
      return 'z';
    case 'string':
      return `s${JSON.stringify(value)}`;
    case 'bool':
      return value === true ? 't' : 'f';
    case 'number':
      return `n${value === 0 ? 0 : String(value)}`;
    case 'array':
      return `[${(value as unknown[]).map(keyOf).join(',')}]`;
    case 'date':
      return `d${(value as Date).getTime()}`;
    case 'binData':
      return `b${(value as Binary).sub_type}:${(value as Binary).toString('base64')}`;
    case 'object': {
      const fields = present(value as Doc).map(([field, inner]) => `${JSON.stringify(field)}:${keyOf(inner)}`);
      return `{${fields.join(',')}}`;
    }
    default:
      return `${typeName(value)}${JSON.stringify(String(value))}`;
  }
}

/** Sets a field of any name, also `__proto__`. */
export function define(doc: Doc, field: string, value: unknown): void {
  if (field === '__proto__') Object.defineProperty(doc, field, { value, writable: true, enumerable: true, configurable: true });
  else doc[field] = value;
}

/** A copy with mutable documents and arrays; BSON's own values are shared. */
export function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isDoc(value)) return value;
  const result: Doc = {};
  for (const [field, inner] of Object.entries(value)) if (inner !== undefined) result[field] = copy(inner);
  return result as T;
}

/** Everything but false, null, missing and zero counts as true. */
export const truthy = (value: unknown): boolean => value !== undefined && value !== null && value !== false && value !== 0;
