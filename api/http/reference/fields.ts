/** The fields of schemas as HTML. A schema that is shown elsewhere is linked to. */
import { html, NOTHING, type Html, type HtmlValue } from '../../web/html.ts';
import { referredName, type Schema, type Schemas } from './document.ts';
import { inline } from './markdown.ts';
import { factsOf, plainType, type Fact } from './schema-facts.ts';

export const objectAnchor = (name: string): string => `object-${name}`;

/** A text as code, which is not translated. */
export const code = (text: string): Html => html`<code translate="no">${text}</code>`;

/** What a reference stands for, if it is shown here. */
function expanded(schema: Schema, schemas: Schemas): Schema {
  const name = referredName(schema);
  return name === null || schemas.objects.has(name) ? schema : schemas.byName[name]!;
}

/** Parts with a text between them. */
export const separated = (parts: readonly Html[], separator: string): Html =>
  html`${parts.map((part, at) => html`${at > 0 && separator}${part}`)}`;

/** The type of a value, with links to the objects in it. */
export function typeLabel(schema: Schema, schemas: Schemas): Html {
  const name = referredName(schema);
  if (name !== null) return schemas.objects.has(name) ? html`<a href="#${objectAnchor(name)}">${name}</a>` : html`${name}`;
  if (schema.anyOf !== undefined)
    return separated(
      schema.anyOf.map((one) => typeLabel(one, schemas)),
      ' or ',
    );
  if (schema.items !== undefined) return html`array of ${typeLabel(schema.items, schemas)}`;
  return html`${plainType(schema)}`;
}

const factText = ({ text, values }: Fact): Html =>
  values === undefined
    ? html`${text}.`
    : html`${text} ${separated(
        values.map((value) => code(value)),
        ', ',
      )}.`;

/** The notes of a body. Those of an object are shown with it. */
export const valueNotes = (schema: Schema, schemas: Schemas): HtmlValue => notes(expanded(schema, schemas));

/** Description, default, allowed values and limits. */
function notes(schema: Schema, description: string | undefined = schema.description): HtmlValue {
  const facts = factsOf(schema);
  return html`${description !== undefined && html`<p>${inline(description)}</p>`}
  ${schema.items?.description !== undefined && html`<p>Each item: ${inline(schema.items.description)}</p>`}
  ${
    facts.length > 0 &&
    html`<p class="facts">
      ${separated(
        facts.map((fact) => factText(fact)),
        ' ',
      )}
    </p>`
  }`;
}

/** Who sends a value: requests must have the required fields, and responses may lack the others. */
export type Direction = 'request' | 'response';

interface Entry {
  name: string;
  required: boolean;
  schema: Schema;
  description?: string;
}

/** A list of values with a name: parameters, or the fields of an object. */
export function entryList(entries: readonly Entry[], schemas: Schemas, direction: Direction): Html {
  const mark = (required: boolean): HtmlValue =>
    direction === 'request'
      ? required && html` <span class="field-required">required</span>`
      : !required && html` <span class="field-type">optional</span>`;
  const items = entries.map(({ name, required, schema, description }) => {
    const shown = expanded(schema, schemas);
    return html`<div>
      <dt>${code(name)} <span class="field-type">${typeLabel(schema, schemas)}</span>${mark(required)}</dt>
      <dd>${notes(shown, description ?? schema.description ?? shown.description)}${nested(shown, schemas, direction)}</dd>
    </div>`;
  });
  return html`<dl class="fields">
    ${items}
  </dl>`;
}

/** The fields within a value: of an object, of the items of an array, or of each of its variants. Empty if it has none. */
export function nested(schema: Schema, schemas: Schemas, direction: Direction): Html {
  const shown = expanded(schema, schemas);
  if (shown.$ref !== undefined) return NOTHING;
  const { properties = {}, required = [], additionalProperties } = shown;
  const entries = Object.entries(properties).map(([name, one]) => ({ name, required: required.includes(name), schema: one }));
  if (typeof additionalProperties === 'object') entries.push({ name: 'any name', required: false, schema: additionalProperties });
  const variants = (shown.anyOf ?? []).map((one) => {
    const fields = nested(one, schemas, direction);
    return fields === NOTHING ? NOTHING : html`<p class="variant">${typeLabel(one, schemas)}</p>${fields}`;
  });
  const items = shown.items === undefined ? NOTHING : nested(shown.items, schemas, direction);
  const parts = [...(entries.length > 0 ? [entryList(entries, schemas, direction)] : []), items, ...variants].filter(
    (part) => part !== NOTHING,
  );
  return parts.length === 0 ? NOTHING : html`${parts}`;
}
