/** Form fields: each has a label, and its hint and its error are linked to it. */
import { attributes, html, NOTHING, type Attributes, type Html, type HtmlValue } from '../../report/html/html.ts';
import { wordsIn } from '../../report/words/words.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../../report/words/current.ts';

/** What all fields have in common. `name` is the id too. */
interface FieldOptions {
  name: string;
  label: HtmlValue;
  hint?: HtmlValue;
  /** What is wrong with the value, in one sentence. */
  error?: HtmlValue;
  required?: boolean;
  /** Language of the word "optional". Default: English. */
  locale?: Locale;
  /** Default: the name. */
  id?: string;
  attributes?: Attributes;
}

export interface TextFieldOptions extends FieldOptions {
  /** What was typed. Never for passwords. */
  value?: string;
  /** Default: text. */
  type?: 'text' | 'email' | 'url' | 'password' | 'number' | 'search' | 'date' | 'time' | 'datetime-local';
  autocomplete?: string;
  inputmode?: string;
  spellcheck?: boolean;
  maxlength?: number;
  /** Default: as wide as the column. */
  width?: 'short' | 'medium' | 'full';
}

const describedBy = (id: string, { hint, error }: FieldOptions): string | undefined =>
  [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;

const notes = (id: string, { hint, error }: FieldOptions): Html =>
  html`${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}${error && html`<p class="field-error" id="${id}-error">${error}</p>`}`;

const optional = ({ required, locale = currentLocale() }: FieldOptions): HtmlValue =>
  !required && html` <span class="optional">(${wordsIn(locale, 'site').texts.optional})</span>`;

const frame = (field: FieldOptions, control: Html): Html =>
  html`<div${attributes({ class: field.error ? 'field has-error' : 'field' })}>${control}</div>`;

const common = (id: string, field: FieldOptions): Attributes => ({
  id,
  name: field.name,
  required: field.required,
  'aria-describedby': describedBy(id, field),
  'aria-invalid': field.error ? 'true' : undefined,
});

export function textField(field: TextFieldOptions): Html {
  const id = field.id ?? field.name;
  const { type = 'text', value, autocomplete, inputmode, maxlength, width = 'full', spellcheck } = field;
  return frame(
    field,
    html`<label for="${id}">${field.label}${optional(field)}</label>${notes(id, field)}
      <input${attributes({
        class: `input input-${width}`,
        type,
        value: type === 'password' ? undefined : value,
        autocomplete,
        inputmode,
        maxlength,
        spellcheck: spellcheck === false ? 'false' : undefined,
        ...common(id, field),
        ...field.attributes,
      })}>`,
  );
}

export function textArea(field: FieldOptions & { value?: string; rows?: number }): Html {
  const id = field.id ?? field.name;
  return frame(
    field,
    html`<label for="${id}">${field.label}${optional(field)}</label>${notes(id, field)}
      <textarea${attributes({ class: 'input input-full', rows: field.rows ?? 4, ...common(id, field), ...field.attributes })}>
${field.value ?? ''}</textarea>`,
  );
}

export interface Choice {
  value: string;
  text: HtmlValue;
  hint?: HtmlValue;
  /** The language of its text, if it is not that of the page. */
  lang?: string;
}

export function selectField(field: FieldOptions & { value?: string; choices: readonly Choice[] }): Html {
  const id = field.id ?? field.name;
  const options = field.choices.map(
    ({ value, text, lang }) => html`<option${attributes({ value, lang, selected: value === field.value })}>${text}</option>`,
  );
  return frame(
    field,
    html`<label for="${id}">${field.label}${optional(field)}</label>${notes(id, field)}
      <select${attributes({ class: 'input', ...common(id, field), ...field.attributes })}>${options}</select>`,
  );
}

/** One box with its own label. */
export function checkbox(field: FieldOptions & { value?: string; checked?: boolean }): Html {
  const id = field.id ?? field.name;
  return frame(
    field,
    html`<div class="choice">
        <input${attributes({ type: 'checkbox', value: field.value ?? 'on', checked: field.checked, ...common(id, field), ...field.attributes })}>
        <label for="${id}">${field.label}</label>
      </div>${notes(id, field)}`,
  );
}

/** A group of boxes or radio buttons with a legend. */
export function choices(field: FieldOptions & { type: 'checkbox' | 'radio'; values: readonly string[]; choices: readonly Choice[] }): Html {
  const id = field.id ?? field.name;
  const items = field.choices.map(({ value, text, hint, lang }, at) => {
    const own = at === 0 ? id : `${id}-${at + 1}`;
    return html`<div class="choice">
      <input${attributes({
        type: field.type,
        id: own,
        name: field.name,
        value,
        checked: field.values.includes(value),
        required: field.type === 'radio' && field.required,
        'aria-describedby': hint ? `${own}-hint` : undefined,
      })}>
      <label${attributes({ for: own, lang })}>${text}</label>${hint && html`<p class="hint" id="${own}-hint">${hint}</p>`}
    </div>`;
  });
  return frame(
    field,
    html`<fieldset${attributes({ 'aria-describedby': describedBy(`${id}-group`, field) })}>
      <legend>${field.label}</legend>${notes(`${id}-group`, field)}${items}
    </fieldset>`,
  );
}

export const hiddenField = (name: string, value: string): Html => html`<input${attributes({ type: 'hidden', name, value })}>`;

export interface FormError {
  /** The id of the field; null for an error of the whole form. */
  field: string | null;
  text: HtmlValue;
}

/** The errors of a form, above its heading. The script moves the focus here; without scripts it is announced as an alert. */
export function errorSummary(errors: readonly FormError[], locale: Locale = currentLocale()): Html {
  if (errors.length === 0) return NOTHING;
  const { count, texts } = wordsIn(locale, 'site');
  const items = errors.map(({ field, text }) => html`<li>${field === null ? text : html`<a href="#${field}">${text}</a>`}</li>`);
  return html`<div class="error-summary" role="alert" tabindex="-1" aria-labelledby="error-summary-title" data-focus>
    <h2 id="error-summary-title">${count(texts.problem, errors.length)}</h2>
    <ul>
      ${items}
    </ul>
  </div>`;
}

/** The title of a page whose form has errors: screen readers read it first. */
export function titleWithErrors(title: string, errors: readonly FormError[], locale: Locale = currentLocale()): string {
  const { count, texts } = wordsIn(locale, 'site');
  return errors.length === 0 ? title : `${count(texts.problem, errors.length)}: ${title}`;
}
