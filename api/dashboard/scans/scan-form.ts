/** The form for a scan: its fields, derived from the schema of a submission; from typed texts to the body of one; and its controls. */
import type { TSchema } from 'typebox';
import { stringify } from 'yaml';
import { type ConsentChoice, CRAWL_LABELS, type HashRoutes, OPTION_LABELS, type ScanOptions } from '../../../core/scan/options.ts';
import { BASELINE_TEXT, type BaselineChoice, baselineText, readBaselineText } from '../../../core/scan/baseline.ts';
import { type Metadata, METADATA_MAX, readPairs } from '../../../core/scan/metadata.ts';
import { readAddressList } from '../../../core/scan/address-list.ts';
import { addressToType, readAddress } from '../../../core/scan/site.ts';
import { PREPARE_MAX } from '../../../core/scan/steps.ts';
import { readSteps } from '../../../core/scan/steps-text.ts';
import { THRESHOLD_NAMES, THRESHOLDS } from '../../../core/scan/thresholds.ts';
import type { SubmittedAuth } from '../../../core/scan/sign-in.ts';
import { docPath } from '../../../core/web-paths.ts';
import { snakeCase } from '../../../core/schemas.ts';
import type { ValidationFailure, ValidationItem } from '../../http/errors.ts';
import { scanSubmission, type ScanSubmission, toScanOptions } from '../../scans/scans.ts';
import { compileValidator } from '../../http/validation.ts';
import {
  actions,
  button,
  checkbox,
  type Choice,
  foldedCard,
  type FormError,
  hiddenField,
  link,
  selectField,
  textArea,
  textField,
} from '../../web/components.ts';
import type { Form } from '../../web/html-scope.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import type { Impact } from '../../../core/scan/impacts.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { errorOf, formErrors } from '../forms.ts';
import { CONSENT_WORDS, HASH_ROUTE_WORDS } from './words.ts';
import { english, m, t, tr } from '../../web/texts.ts';

export type ScanFieldName = keyof ScanSubmission;

/** The parts of a field's schema that its control shows. */
interface FieldSchema {
  type: string | string[];
  items?: { type: string };
  /** The fields of an object. Metadata has none, because its keys are free. */
  properties?: object;
  enum?: (string | null)[];
  default?: unknown;
  description?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
}

/**
 * How a value is typed. `lines` is a list of texts and `pairs` one of `KEY=VALUE`, one per line. `steps` is a list of steps in
 * YAML; `readBaselineText` reads `baseline`. `secret` is the name of a Secret.
 */
type FieldKind = 'choice' | 'box' | 'integer' | 'number' | 'lines' | 'pairs' | 'steps' | 'baseline' | 'secret' | 'text';

export interface ScanField {
  name: ScanFieldName;
  /** The name of the option. */
  option: string;
  label: string;
  kind: FieldKind;
  schema: FieldSchema;
  /** The description of the API, unless the form has a hint of its own. */
  description: string | undefined;
  /** Its value may not be empty. */
  required: boolean;
}

/** What was typed; a box that is not checked is empty. */
export type ScanFormValues = Readonly<Record<ScanFieldName, string>>;

export type CheckedForm = (ReadForm & { ok: true; partial: boolean; body: Record<string, unknown> }) | { ok: false; errors: FormError[] };
interface ReadForm {
  options: ScanOptions;
  baseline?: BaselineChoice;
  metadata?: Metadata;
  auth?: SubmittedAuth;
}

/** @param maxPagesLimit the maximum number of pages of one scan */
export function createScanForm(maxPagesLimit: number) {
  const schema = scanSubmission(maxPagesLimit);
  const validate = compileValidator({ schema, method: 'POST', url: '/dashboard/scans/new', httpPart: 'body' });
  const fieldsOf = (labels: Readonly<Record<string, string>>): ScanField[] =>
    Object.entries(labels).map(([name, label]) => fieldOf(name, label, schema));
  const groups = {
    options: fieldsOf({
      ...OPTION_LABELS,
      auth: m`Secret of the sign-in`,
      metadata: m`Metadata`,
      failOnTruncation: m`Start only if there are credits for all pages`,
    }),
    thresholds: fieldsOf({ ...Object.fromEntries(THRESHOLD_NAMES.map((name) => [name, THRESHOLDS[name].label])), baseline: m`Baseline` }),
    crawl: fieldsOf(CRAWL_LABELS),
  };
  const fields = Object.values(groups).flat();
  const valuesOf = (text: (field: ScanField) => string): ScanFormValues =>
    Object.fromEntries(fields.map((field) => [field.name, text(field)])) as ScanFormValues;

  const texts = { 'type.object': m`Enter KEY=VALUE, schedule:NAME, or the ID of a scan.` };
  const labels = Object.fromEntries(fields.map(({ name, label, kind }) => [name, { label, ...(kind === 'baseline' && { texts }) }]));
  /** The errors of a request as those of its form. */
  const errorsOf = (items: readonly ValidationItem[]): FormError[] => formErrors(items, labels);

  /** Checks what was typed with the schema and the messages of the API. */
  function check(values: ScanFormValues): CheckedForm {
    const steps = readSteps(values.prepare);
    if (!steps.ok) return { ok: false, errors: [{ field: 'prepare', text: english(steps.message) }] };
    const pairs = readPairs(linesOf(values.metadata));
    if (!pairs.ok) return { ok: false, errors: [{ field: 'metadata', text: english(pairs.message) }] };
    const typed = { steps: steps.steps, pairs: pairs.metadata, urls: readAddressList(values.urls) };
    const given = fields.filter(({ name, kind }) => kind === 'box' || values[name] !== '');
    const body = Object.fromEntries(
      given.map(({ name, kind }) => [
        name,
        name === 'urls' ? typed.urls : kind === 'steps' || kind === 'pairs' ? typed[kind] : PARSE[kind](values[name]),
      ]),
    );
    const { url, httpFallback } = readAddress(values.url.trim());
    if (url !== '') Object.assign(body, { url }, httpFallback && { http_fallback: httpFallback });
    // The validation adds defaults.
    const checked = validate(structuredClone(body)) as { value: ScanSubmission } | { error: ValidationFailure };
    if ('error' in checked) return { ok: false, errors: errorsOf(checked.error.items) };
    const { baseline, metadata, auth } = checked.value;
    return {
      ok: true,
      options: toScanOptions(checked.value),
      ...(baseline && { baseline }),
      ...(auth && { auth }),
      metadata,
      partial: !checked.value.fail_on_truncation,
      body,
    };
  }

  return {
    groups,
    /** The values before anything is typed. */
    empty: valuesOf(({ schema: { default: value } }) => textOf(value)),
    /** The values that lead to these options. */
    valuesFor: ({ options, baseline, metadata = {} }: ReadForm) => {
      const given: Record<string, unknown> = { ...options.crawl, ...options.thresholds, ...options };
      const typed: Partial<Record<ScanFieldName, string>> = {
        url: addressToType(options),
        prepare: options.crawl.prepare.length === 0 ? '' : stringify(options.crawl.prepare),
        metadata: Object.entries(metadata).map((pair) => pair.join('=')).join('\n'), // prettier-ignore
        baseline: baseline === undefined ? '' : baselineText(baseline),
      };
      return valuesOf(({ name, option }) => typed[name] ?? textOf(given[option]));
    },
    read: (form: Form): ScanFormValues => valuesOf(({ name }) => form.text(name)),
    check,
    errorsOf,
  };
}
export type ScanForm = ReturnType<typeof createScanForm>;

function fieldOf(option: string, label: string, submission: ReturnType<typeof scanSubmission>): ScanField {
  const name = snakeCase(option) as ScanFieldName;
  const schema = submission.properties[name] as TSchema as unknown as FieldSchema;
  const required = submission.required.includes(name as 'url') || textOf(schema.default) !== '';
  const description = HINTS[name] === undefined ? schema.description : undefined;
  return { name, option, label, kind: kindOf(schema), schema, description, required };
}

function kindOf({ type, enum: values, items, properties }: FieldSchema): FieldKind {
  if (values !== undefined) return 'choice';
  const [first] = [type].flat();
  switch (first) {
    case 'boolean':
      return 'box';
    case 'array':
      return items?.type === 'string' ? 'lines' : 'steps';
    case 'integer':
    case 'number':
      return first;
    case 'object':
      return properties === undefined ? 'pairs' : 'secret' in properties ? 'secret' : 'baseline';
    default:
      return 'text';
  }
}

/** A text that is not a number stays a text, so that the message of the API describes it. */
const numberOf = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));

const PARSE: Readonly<Record<Exclude<FieldKind, 'steps' | 'pairs'>, (text: string) => unknown>> = {
  choice: (text) => text,
  text: (text) => text,
  baseline: (text) => readBaselineText(text.trim()) ?? text,
  secret: (text) => ({ secret: text.trim() }),
  box: (text) => text !== '',
  integer: numberOf,
  number: numberOf,
  lines: linesOf,
};

/** The default of a field as it would be typed. */
function textOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : '';
  return Array.isArray(value) ? value.join('\n') : String(value ?? '');
}

interface NewScanData {
  form: ScanForm;
  values: ScanFormValues;
  errors: readonly FormError[];
  csrfToken: string;
  idempotencyKey: string;
  /** Null: unknown at the moment. */
  credits: number | null;
  allowPrepareSteps: boolean;
  /** Whether the organisation may name Secrets. */
  mayUseSecrets: boolean;
}

export function newScanBody(data: NewScanData): Html {
  const { csrfToken, idempotencyKey, credits, mayUseSecrets } = data;
  const { first, more } = scanFields({ ...data, without: mayUseSecrets ? [] : ['auth'] });
  return html`<p>${t`A scan reserves one credit per page, and charges the pages that it tests.`}${credits !== null && t` ${credits} credits are available.`}</p>
    <form method="post" action="/dashboard/scans/new" novalidate>
      ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)} ${first}
      ${actions(button({ text: t`Start scan`, kind: 'primary' }))}
      ${foldedCard({ ...more, body: html`${more.body} ${button({ text: t`Start scan` })}` })}
    </form>`;
}

/** The fields that most scans need. The others are folded. */
const FIRST: ReadonlySet<ScanFieldName> = new Set(['url', 'max_pages', 'fail_on_severity']);

/**
 * The fields of a scan: the first ones, and those that are folded unless one of them has an error or not its default.
 * @param data.without those that the form does not have
 */
export function scanFields(
  data: Pick<NewScanData, 'form' | 'values' | 'errors' | 'allowPrepareSteps'> & { without?: readonly ScanFieldName[] },
): { first: Html; more: Parameters<typeof foldedCard>[0] } {
  const { form, values, errors, allowPrepareSteps, without = [] } = data;
  const has = ({ name, kind }: ScanField): boolean => !without.includes(name) && (allowPrepareSteps || kind !== 'steps');
  const all = Object.values(form.groups).flat().filter(has);
  const controls = (fields: readonly ScanField[], isFirst = false): Html[] =>
    fields
      .filter((field) => has(field) && FIRST.has(field.name) === isFirst)
      .map((field) => control(field, values[field.name], errorOf(errors, field.name)));
  // The language of the account is no choice that has to be seen.
  const isChosen = (name: ScanFieldName): boolean => name !== 'locale' && values[name] !== form.empty[name];
  const open = all.some(({ name }) => !FIRST.has(name) && (isChosen(name) || errorOf(errors, name) !== undefined));
  const body = html`${controls(form.groups.options)}
    <fieldset>
      <legend>${t`Thresholds`}</legend>
      <p class="hint">${t`The scan passes if it meets every threshold. Without thresholds it has no verdict.`}</p>
      ${controls(form.groups.thresholds)}
    </fieldset>
    <fieldset>
      <legend>${t`Rules for pages`}</legend>
      <p class="hint">${t`Without rules, every page of the site belongs to the scan.`}</p>
      ${controls(form.groups.crawl)}
    </fieldset>`;
  const [url, ...others] = controls(all, true);
  return { first: html`${url} <div class="columns">${others}</div>`, more: { id: 'more', title: t`More options`, open, body } };
}

function control(field: ScanField, value: string, error: HtmlValue): Html {
  const { name, label, kind, schema, required } = field;
  const common = { name, label: tr(label), hint: HINTS[name]?.(schema) ?? hintOf(field), value, error, required };
  switch (kind) {
    case 'box':
      return checkbox({ ...common, value: 'on', checked: value !== '', required: false });
    case 'choice':
      return selectField({ ...common, choices: [...(required ? [] : [{ value: '', text: t`Not checked` }]), ...choicesOf(field)] });
    case 'lines':
    case 'pairs':
    case 'steps':
      return textArea({ ...common, attributes: { spellcheck: 'false', autocapitalize: 'off' } });
    case 'integer':
    case 'number':
      return textField({ ...common, width: 'short', inputmode: kind === 'integer' ? 'numeric' : 'decimal' });
    case 'baseline':
    case 'secret':
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
  fail_on_severity: (value) => ({ text: wordsIn(currentLocale(), 'report').texts.severities[value as Impact] }),
  consent: (value) => ({ text: tr(CONSENT_WORDS[value as ConsentChoice]) }),
  hash_routes: (value) => ({ text: tr(HASH_ROUTE_WORDS[value as HashRoutes]) }),
};

/** The description of the API with the bounds of the value. */
function hintOf({ kind, schema, description = '' }: ScanField): string {
  const { minimum, maximum = Number.MAX_SAFE_INTEGER, maxItems = 0 } = schema;
  const bounds = minimum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? t` ${minimum} to ${maximum}.` : '';
  return tr(description) + bounds + (kind === 'lines' ? t` One per line, at most ${maxItems}.` : '');
}

/** The hints of fields whose description is for callers of the API. */
const HINTS: Partial<Record<ScanFieldName, (schema: ScanField['schema']) => HtmlValue>> = {
  url: () => t`The page to start from, such as https://example.com/`,
  max_pages: ({ maximum = 0 }) => t`At most ${maximum}. The scan follows links and sitemaps.`,
  auth: () =>
    t`For ${link(t`pages behind a sign-in`, docPath('signed-in-pages'))}: the name of a Secret that the operator of this service has stored for your organisation.`,
  fail_on_severity: () => t`The scan does not pass if it finds violations of this severity or worse.`,
  fail_on_truncation: () => t`Otherwise as many pages are scanned as there are credits.`,
  urls: ({ maxItems = 0 }) =>
    t`Tests these and follows no links: addresses of the site, or paths, one per line, or CSV with a heading. At most ${maxItems}, and the number of pages.`,
  baseline: () => t`The earlier scan to compare with, for new violations: ${tr(BASELINE_TEXT)}. Example: ${html`<code>branch=main</code>`}`,
  metadata: () =>
    t`At most ${METADATA_MAX} pairs that say what is scanned, one per line, for example ${html`<code>branch=main</code>`}. They do not change the scan.`,
  prepare: () =>
    t`At most ${PREPARE_MAX} steps that run once, such as to pass an age gate: a list in YAML of ${html`<code>goto</code>, <code>click</code>, <code>fill</code>, <code>waitFor</code>`} and ${html`<code>assert</code>`}, for example ${html`<code>- click: button.adult</code>`}. Values are not secret.`,
};
