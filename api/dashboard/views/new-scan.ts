/** The form for a new scan. Pure. */
import { BASELINE_TEXT } from '../../../core/scan/baseline.ts';
import { METADATA_MAX } from '../../../core/scan/metadata.ts';
import type { ConsentChoice } from '../../../core/scan/options.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { PREPARE_MAX } from '../../../core/scan/steps.ts';
import {
  button,
  checkbox,
  hiddenField,
  selectField,
  textArea,
  textField,
  type Choice,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html, type HtmlValue } from '../../web/html.ts';
import { errorOf } from '../forms.ts';
import type { ScanField, ScanFieldName, ScanForm, ScanFormValues } from '../scan-form.ts';
import { CONSENT_WORDS, number } from './scan-words.ts';

export interface NewScanData {
  form: ScanForm;
  values: ScanFormValues;
  errors: readonly FormError[];
  csrfToken: string;
  idempotencyKey: string;
  /** Null: unknown at the moment. */
  credits: number | null;
  allowPrepareSteps: boolean;
}

export function newScanBody(data: NewScanData): Html {
  const { csrfToken, idempotencyKey, credits } = data;
  return html`<p>A scan reserves one credit per page, and charges the pages that it tests.${credits !== null && ` ${number(credits)} credits are available.`}</p>
    <form method="post" action="/dashboard/scans/new" novalidate>
      ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)} ${scanFields(data)}
      ${button({ text: 'Start scan', kind: 'primary' })}
    </form>`;
}

/** The fields of a scan. @param data.without those that the form does not have */
export function scanFields(
  data: Pick<NewScanData, 'form' | 'values' | 'errors' | 'allowPrepareSteps'> & { without?: readonly ScanFieldName[] },
): Html {
  const { form, values, errors, allowPrepareSteps, without = [] } = data;
  const controls = (fields: readonly ScanField[]): Html[] =>
    fields.filter(({ name }) => !without.includes(name)).map((field) => control(field, values[field.name], errorOf(errors, field.name)));
  return html`${controls(form.groups.options)}
    <fieldset>
      <legend>Thresholds</legend>
      <p class="hint">The scan passes if it meets every threshold. Without thresholds it has no verdict.</p>
      ${controls(form.groups.thresholds)}
    </fieldset>
    <fieldset>
      <legend>Rules for pages</legend>
      <p class="hint">Without rules, every page of the site belongs to the scan.</p>
      ${controls(form.groups.crawl.filter(({ kind }) => allowPrepareSteps || kind !== 'steps'))}
    </fieldset>`;
}

function control(field: ScanField, value: string, error: string | undefined): Html {
  const { name, label, kind, schema, required } = field;
  const common = { name, label, hint: HINTS[name]?.(schema) ?? hintOf(field), value, error, required };
  switch (kind) {
    case 'box':
      return checkbox({ ...common, value: 'on', checked: value !== '', required: false });
    case 'choice':
      return selectField({ ...common, choices: [...(required ? [] : [{ value: '', text: 'Not checked' }]), ...choicesOf(field)] });
    case 'lines':
    case 'pairs':
    case 'steps':
      return textArea({ ...common, attributes: { spellcheck: 'false', autocapitalize: 'off' } });
    case 'integer':
    case 'number':
      return textField({ ...common, width: 'short', inputmode: kind === 'integer' ? 'numeric' : 'decimal' });
    case 'baseline':
      return textField({ ...common, type: 'text', autocomplete: 'off', spellcheck: false });
    case 'text': {
      const address = schema.format === 'uri';
      return textField({
        ...common,
        type: address ? 'url' : 'text',
        autocomplete: address ? 'url' : 'off',
        maxlength: schema.maxLength,
        spellcheck: false,
      });
    }
  }
}

function choicesOf({ name, schema }: ScanField): Choice[] {
  return (schema.enum ?? []).flatMap((value) => (value === null ? [] : [{ value, text: value, ...CHOICES[name]?.(value) }]));
}

/** How values of the API read on the page, if they are not shown themselves. */
const CHOICES: Partial<Record<ScanFieldName, (value: string) => Pick<Choice, 'text' | 'lang'>>> = {
  locale: (value) => ({ text: wordsIn(value as Locale, 'site').texts.name, lang: value }),
  consent: (value) => ({ text: CONSENT_WORDS[value as ConsentChoice] }),
};

/** The description of the API with the bounds of the value. */
function hintOf({ kind, schema }: ScanField): string {
  const { description = '', minimum, maximum = Number.MAX_SAFE_INTEGER, maxItems } = schema;
  const bounds = minimum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? ` ${number(minimum)} to ${number(maximum)}.` : '';
  return description + bounds + (kind === 'lines' ? ` One per line, at most ${maxItems}.` : '');
}

/** The hints of fields whose description is for callers of the API. */
const HINTS: Partial<Record<ScanFieldName, (schema: ScanField['schema']) => HtmlValue>> = {
  url: () => 'The page to start from, such as https://example.com/',
  max_pages: ({ maximum = 0 }) => `At most ${number(maximum)}. The scan follows links and sitemaps.`,
  fail_on_truncation: () => 'Otherwise as many pages are scanned as there are credits.',
  baseline: () => html`The earlier scan to compare with, for new violations: ${BASELINE_TEXT}. Example: <code>branch=main</code>`,
  metadata: () =>
    html`At most ${String(METADATA_MAX)} pairs that say what is scanned, one per line, for example <code>branch=main</code>. They do not change the scan.`,
  prepare: () =>
    html`At most ${String(PREPARE_MAX)} steps that run once, such as to pass an age gate: a list in YAML of <code>goto</code>, <code>click</code>, <code>fill</code>, <code>waitFor</code> and <code>assert</code>, for example <code>- click: button.adult</code>. Values are not secret.`,
};
