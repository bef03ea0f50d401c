/** What a schema allows, in words. Pure. */
import type { Schema } from './document.ts';

/** A fact about a value: a text, followed by values that are shown as code. */
export interface Fact {
  text: string;
  values?: readonly string[];
}

/** The value as JSON, with strings in quotes only if they are empty. */
const shown = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value));

/** "1 to 5 items", "at least 1 item", "at most 5 items"; null without limits. */
function range(minimum: number | undefined, maximum: number | undefined, unit = ''): string | null {
  const counted = (count: number): string => (unit === '' ? String(count) : `${count} ${unit}${count === 1 ? '' : 's'}`);
  if (minimum !== undefined && minimum === maximum) return `Exactly ${counted(minimum)}`;
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${counted(maximum)}`;
  if (minimum !== undefined) return `At least ${counted(minimum)}`;
  return maximum === undefined ? null : `At most ${counted(maximum)}`;
}

/** The default, the allowed values and the limits of a value. Those of the items of an array follow its own. */
export function factsOf(schema: Schema): Fact[] {
  const values = schema.enum ?? schema['x-extensible-enum'];
  const ranges = [
    range(schema.minimum, schema.maximum),
    range(schema.minLength, schema.maxLength, 'character'),
    range(schema.minItems, schema.maxItems, 'item'),
    range(schema.minProperties, schema.maxProperties, 'field'),
    schema.uniqueItems === true ? 'No duplicates' : null,
  ].filter((text) => text !== null);
  const ofItems = schema.items === undefined ? [] : factsOf(schema.items);
  return [
    ...(schema.default === undefined ? [] : [{ text: 'Default:', values: [shown(schema.default)] }]),
    ...(values === undefined ? [] : [{ text: values.length === 1 ? 'Always' : 'One of', values: values.map(shown) }]),
    ...ranges.map((text) => ({ text })),
    ...(schema.pattern === undefined ? [] : [{ text: 'Pattern:', values: [schema.pattern] }]),
    ...ofItems.map(({ text, values: each }) => ({ text: `Each item: ${text.charAt(0).toLowerCase()}${text.slice(1)}`, values: each })),
  ];
}

/** The JSON type with the format: `string (uuid)`. */
export function plainType({ type, format, enum: values }: Schema): string {
  const names = type === undefined ? (values === undefined ? 'any value' : 'value') : [type].flat().join(' or ');
  return format === undefined ? names : `${names} (${format})`;
}
