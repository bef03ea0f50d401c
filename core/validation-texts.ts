/**
 * The sentences that say what is wrong with a value, from a code and its bounds. The subject is the field of the API, the label of a
 * form or an option of the command line, so no caller replaces words in a sentence. Pure.
 */
import { Type, type Static } from 'typebox';
import { METADATA_RULES } from './scan/metadata.ts';

/** What a value must keep to, with an error of its type. */
export const ValidationBounds = Type.Object(
  {
    limit: Type.Optional(Type.Number({ description: 'The smallest or largest value, or number of characters, items or fields.' })),
    allowed: Type.Optional(Type.Array(Type.Unknown(), { description: 'The allowed values.' })),
    nullable: Type.Optional(Type.Boolean({ description: 'Whether null is allowed.' })),
    pattern: Type.Optional(Type.String({ description: 'The regular expression that a text must match.' })),
  },
  { description: 'What the value must keep to. Absent if the type says it all.' },
);
export type ValidationBounds = Static<typeof ValidationBounds>;

const several = (limit: number | undefined, noun: string): string => `${String(limit)} ${noun}${limit === 1 ? '' : 's'}`;
const orNull = ({ nullable }: ValidationBounds): string => (nullable === true ? ' or null' : '');

/** What is said of each type that a schema can find. */
const PREDICATES = {
  missing_field: () => 'is required',
  unexpected_field: () => 'is not a field of this request; check its spelling',
  'type.object': (bounds) => `must be a JSON object${orNull(bounds)}`,
  'type.string': (bounds) => `must be a string${orNull(bounds)}`,
  'type.number': (bounds) => `must be a number${orNull(bounds)}`,
  'type.integer': (bounds) => `must be an integer${orNull(bounds)}`,
  'type.boolean': (bounds) => `must be true or false${orNull(bounds)}`,
  'type.array': (bounds) => `must be a list${orNull(bounds)}`,
  'number.minimum': ({ limit }) => `must be at least ${String(limit)}`,
  'number.maximum': ({ limit }) => `must be at most ${String(limit)}`,
  'array.min_items': ({ limit }) => `must have at least ${several(limit, 'item')}`,
  'array.max_items': ({ limit }) => `must have at most ${several(limit, 'item')}`,
  'array.unique_items': () => 'must not have the same item twice',
  'object.min_properties': ({ limit }) => `must have at least ${several(limit, 'field')}`,
  'object.max_properties': ({ limit }) => `must have at most ${several(limit, 'field')}`,
  'string.min_length': ({ limit }) => `must have at least ${several(limit, 'character')}`,
  'string.max_length': ({ limit }) => `must have at most ${several(limit, 'character')}`,
  'string.pattern': ({ pattern = '' }) => `must ${METADATA_RULES[pattern] ?? `match ${pattern}`}`,
  'string.uuid': () => 'must be a UUID',
  'string.uri': () => 'must be an absolute URL such as https://example.com/',
  'string.email': () => 'must be an e-mail address such as name@example.com',
  'string.date_time': () => 'must be a date and time such as 2030-01-31T12:00:00Z',
  enum: ({ allowed = [] }) => `must be one of ${allowed.map(String).join(', ')}`,
} as const satisfies Record<string, (bounds: ValidationBounds) => string>;

/** The types of errors that a schema can find. */
export type SchemaErrorType = keyof typeof PREDICATES;

/** The types whose sentence needs bounds, which older services do not send. */
const NEED: Readonly<Record<string, keyof ValidationBounds>> = {
  'number.minimum': 'limit',
  'number.maximum': 'limit',
  'array.min_items': 'limit',
  'array.max_items': 'limit',
  'object.min_properties': 'limit',
  'object.max_properties': 'limit',
  'string.min_length': 'limit',
  'string.max_length': 'limit',
  'string.pattern': 'pattern',
  enum: 'allowed',
};

/** Says what is wrong with a subject. @returns null if the type is none of a schema, or its bounds are missing: the message then says it */
export function validationText(subject: string, { type, bounds = {} }: { type: string; bounds?: ValidationBounds }): string | null {
  if (!Object.hasOwn(PREDICATES, type)) return null;
  const needed = NEED[type];
  if (needed !== undefined && bounds[needed] === undefined) return null;
  return `${subject} ${PREDICATES[type as SchemaErrorType](bounds)}.`;
}

/** The same for users, who fill in a form or write options: they leave a value out instead of sending null. */
export function validationTextForUsers(subject: string, { type, bounds }: { type: string; bounds?: ValidationBounds }): string | null {
  return validationText(subject, { type, bounds: { ...bounds, nullable: false, ...(bounds?.allowed && { allowed: bounds.allowed.filter((one) => one !== null) }) } }); // prettier-ignore
}
