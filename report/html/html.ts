/**
 * Templates of pages. `html` escapes every value except the results of other templates. Write quotes around each attribute
 * value, or use `attributes`. Only files of `api/web/` and `report/html/` may use `raw` (html.test.ts).
 */
import { html as template, raw } from 'hono/html';

export { raw };

/** Escaped HTML. Only `html` and `raw` make it. */
export type Html = ReturnType<typeof raw>;

/** What a template may contain. Null, undefined, true and false are left out. */
export type HtmlValue = Html | string | number | boolean | null | undefined | readonly HtmlValue[];

/** Makes HTML from a template. Values that are not HTML are escaped. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return template(strings, ...values) as Html;
}

/** The value of an attribute: true for an attribute without a value; false, null and undefined for none. */
export type AttributeValue = string | number | boolean | null | undefined;
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** The attributes of an element, with a space before each. */
export function attributes(values: Attributes): Html[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === null || value === undefined || value === false) return [];
    if (!/^[a-z][a-z0-9:-]*$/i.test(name)) throw new Error(`not an attribute name: ${name}`);
    return [value === true ? raw(` ${name}`) : html`${raw(` ${name}`)}="${value}"`];
  });
}

/** No HTML. */
export const NOTHING: Html = html``;

/** An address with parameters. Those without a value are left out. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | number | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value != null && value !== '') query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
