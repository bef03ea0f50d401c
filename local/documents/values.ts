/**
 * Stored values and their comparison. BSON's types are represented so that each value is returned as it was stored.
 *
 * 32-bit integers are JavaScript numbers, 64-bit ones are bigints, doubles are numbers unless they look like a 32-bit
 * integer (then they stay `Double`); `undefined` means that the field is missing. Stored documents are never changed in
 * place, so that the collection, its log and open cursors can share them.
 */
import { Binary, Decimal128, Double, ObjectId, deserialize, serialize, type Int32, type Long } from 'bson';

export type Doc = { [field: string]: unknown };

const INT_MIN = -(2 ** 31);
const INT_MAX = 2 ** 31 - 1;

const isInt32 = (value: number): boolean => Number.isInteger(value) && value >= INT_MIN && value <= INT_MAX && !Object.is(value, -0);
const bsonType = (value: unknown): string | undefined => (value as { _bsontype?: string } | null)?._bsontype;

/** An embedded document is neither an array nor one of BSON's own types. */
export function isDoc(value: unknown): value is Doc {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof Date) && !(value instanceof RegExp) && bsonType(value) === undefined;
}

/** Reads one BSON document. */
export function decode(bytes: Uint8Array): Doc {
  return held(deserialize(bytes, { promoteValues: false, promoteLongs: false, bsonRegExp: false })) as Doc;
}

/** Writes one BSON document; undefined fields are omitted. */
export function encode(doc: Doc): Uint8Array {
  return serialize(doc, { ignoreUndefined: true });
}

function held(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(held);
  switch (bsonType(value)) {
    case 'Int32':
      return (value as Int32).value;
    case 'Double':
      return asDouble((value as Double).value);
    case 'Long':
      return (value as Long).toBigInt();
    case undefined: {
      if (!isDoc(value)) return value;
      for (const field of Object.keys(value)) value[field] = held(value[field]);
      return value;
    }
    default:
      return value;
  }
}

/** The representation of a double. */
export function asDouble(value: number): number | Double {
  return isInt32(value) ? new Double(value) : value;
}

export type NumberType = 'int' | 'long' | 'double' | 'decimal';
const NUMBER_RANK: Readonly<Record<NumberType, number>> = { int: 0, long: 1, double: 2, decimal: 3 };

/** The BSON number type of a value; null if it is not a number. */
export function numberType(value: unknown): NumberType | null {
  if (typeof value === 'number') return isInt32(value) ? 'int' : 'double';
  if (typeof value === 'bigint') return 'long';
  const type = bsonType(value);
  return type === 'Double' ? 'double' : type === 'Decimal128' ? 'decimal' : null;
}

/** A number as a JavaScript number; longs beyond 2^53 lose precision. */
export function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Decimal128) return Number(value.toString());
  return (value as Double).value;
}

/** Adds, multiplies or subtracts in the wider of the two types; an overflowing int becomes a long. */
export function arithmetic(operation: '+' | '-' | '*', a: unknown, b: unknown): unknown {
  const types = [numberType(a)!, numberType(b)!].sort((x, y) => NUMBER_RANK[y] - NUMBER_RANK[x]);
  if (types[0] === 'decimal') return Decimal128.fromString(String(compute(operation, toNumber(a), toNumber(b))));
  if (types[0] === 'double') return asDouble(compute(operation, toNumber(a), toNumber(b)) as number);
  const exact = compute(operation, BigInt(a as number | bigint), BigInt(b as number | bigint)) as bigint;
  if (BigInt.asIntN(64, exact) !== exact) return asDouble(Number(exact));
  return types[0] === 'int' && isInt32(Number(exact)) ? Number(exact) : exact;
}

function compute(operation: '+' | '-' | '*', a: number | bigint, b: number | bigint): number | bigint {
  const [x, y] = [a as number, b as number]; // both are of the same type
  return operation === '+' ? x + y : operation === '-' ? x - y : x * y;
}

/** The name of a value's BSON type, as in `$type`. */
export function typeName(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'string' || typeof value === 'symbol') return 'string';
  if (typeof value === 'boolean') return 'bool';
  const number = numberType(value);
  if (number !== null) return number;
  if (Array.isArray(value)) return 'array';
  if (value instanceof Date) return 'date';
  if (value instanceof RegExp) return 'regex';
  const type = bsonType(value);
  switch (type) {
    case undefined:
      return 'object';
    case 'ObjectId':
      return 'objectId';
    case 'Binary':
      return 'binData';
    case 'MinKey':
    case 'MaxKey':
      return type.charAt(0).toLowerCase() + type.slice(1);
    case 'Timestamp':
      return 'timestamp';
    default:
      return type.toLowerCase();
  }
}

const ORDER: readonly string[] = 'minKey missing null number string object array binData objectId bool date timestamp regex'.split(' ');

/** The position of a value's type in BSON's order of types. All number types share one position. */
export function typeOrder(value: unknown): number {
  if (numberType(value) !== null) return ORDER.indexOf('number');
  const place = ORDER.indexOf(typeName(value));
  return place === -1 ? ORDER.length : place;
}

/** BSON's total order over all values: negative, 0 or positive. A missing value comes before null. */
export function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  const order = typeOrder(a) - typeOrder(b);
  if (order !== 0) return order;
  if (numberType(a) !== null) return compareNumbers(a, b);
  if (typeof a === 'string') return simple(a, b as string);
  if (typeof a === 'boolean') return Number(a) - Number(b);
  if (Array.isArray(a)) return compareLists(a, b as unknown[]);
  if (a instanceof Date) return a.getTime() - (b as Date).getTime();
  if (a instanceof RegExp) return simple(String(a), String(b));
  if (isDoc(a)) return compareDocs(a, b as Doc);
  if (a instanceof Binary) return compareBinaries(a, b as Binary);
  if (a instanceof ObjectId) return Buffer.compare(a.id, (b as ObjectId).id);
  return simple(String(a), String(b));
}

const simple = <T extends string | number | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

function compareNumbers(a: unknown, b: unknown): number {
  if (typeof a === 'bigint' && typeof b === 'bigint') return simple(a, b);
  const [x, y] = [typeof a === 'bigint' ? a : toNumber(a), typeof b === 'bigint' ? b : toNumber(b)];
  if (x !== x || y !== y) return x !== x ? (y !== y ? 0 : -1) : 1; // NaN comes before every number
  return x < y ? -1 : x > y ? 1 : 0; // JavaScript compares bigint with number exactly
}

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
    const [fieldA, valueA] = x[i]!;
    const [fieldB, valueB] = y[i]!;
    const order = typeOrder(valueA) - typeOrder(valueB) || simple(fieldA, fieldB) || compare(valueA, valueB);
    if (order !== 0) return order;
  }
  return x.length - y.length;
}

const present = (doc: Doc): [string, unknown][] => Object.entries(doc).filter(([, value]) => value !== undefined);

function compareBinaries(a: Binary, b: Binary): number {
  return a.position - b.position || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value());
}

/** Whether two values have the same type and value. Decides whether an update changed anything. */
export function identical(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeName(a) !== typeName(b)) return false;
  if (Array.isArray(a)) return a.length === (b as unknown[]).length && a.every((item, i) => identical(item, (b as unknown[])[i]));
  if (isDoc(a)) {
    const [x, y] = [present(a), present(b as Doc)];
    return x.length === y.length && x.every(([field, value], i) => field === y[i]![0] && identical(value, y[i]![1]));
  }
  return compare(a, b) === 0;
}

/** A string that is the same for two values exactly if they are equal as index keys: 1, 1n and 1.0; missing and null. */
export function keyOf(value: unknown): string {
  if (value === null || value === undefined) return 'z';
  if (typeof value === 'string') return `s${JSON.stringify(value)}`;
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (numberType(value) !== null) {
    if (typeof value === 'bigint') return `n${value}`;
    const number = toNumber(value);
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? `n${BigInt(number)}` : `n${number === 0 ? 0 : number}`;
  }
  if (Array.isArray(value)) return `[${value.map(keyOf).join(',')}]`;
  if (value instanceof Date) return `d${value.getTime()}`;
  if (value instanceof ObjectId) return `o${value.toHexString()}`;
  if (value instanceof Binary) return `b${value.sub_type}:${value.toString('base64')}`;
  if (isDoc(value))
    return `{${present(value)
      .map(([field, inner]) => `${JSON.stringify(field)}:${keyOf(inner)}`)
      .join(',')}}`;
  return `${typeName(value)}${JSON.stringify(String(value))}`;
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
export function truthy(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  return numberType(value) === null || toNumber(value) !== 0;
}
