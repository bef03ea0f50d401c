/** The form for a new scan. Pure. */
import { IMPACTS } from '../../../core/scan/impacts.ts';
import { LOCALES } from '../../../core/scan/locales.ts';
import { CONSENT_CHOICES, CrawlRules, ScanOptions } from '../../../core/scan/options.ts';
import { PREPARE_MAX } from '../../../core/scan/steps.ts';
import { THRESHOLDS } from '../../../core/scan/thresholds.ts';
import { URL_MAX_LENGTH } from '../../../core/scan/targets.ts';
import { WCAG_LEVELS, WCAG_VERSIONS } from '../../../core/scan/wcag.ts';
import {
  breadcrumb,
  button,
  checkbox,
  errorSummary,
  hiddenField,
  selectField,
  textArea,
  textField,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { LANGUAGE_NAMES } from '../../web/languages.ts';
import { errorOf } from '../forms.ts';
import type { ScanFormValues } from '../scan-form.ts';
import { CONSENT_WORDS, number } from './scan-words.ts';

export interface NewScanData {
  values: ScanFormValues;
  errors: readonly FormError[];
  csrfToken: string;
  idempotencyKey: string;
  /** Null: unknown at the moment. */
  credits: number | null;
  maxPagesLimit: number;
  allowPrepareSteps: boolean;
}

const { maxPages, wcagLevel, wcagVersion, locale, consent } = { ...ScanOptions.properties, ...CrawlRules.properties } as Record<
  string,
  { default?: unknown }
>;

/** The form before anything is typed. */
export const emptyForm = (maxPagesLimit: number): ScanFormValues => ({
  url: '',
  max_pages: String(Math.min(Number(maxPages!.default), maxPagesLimit)),
  wcag_level: String(wcagLevel!.default),
  wcag_version: String(wcagVersion!.default),
  min_score: '',
  max_violations: '',
  fail_on_severity: '',
  min_coverage: '',
  locale: String(locale!.default),
  consent: String(consent!.default),
  prepare: '',
  partial: false,
});

const description = (name: keyof typeof THRESHOLDS): string => (THRESHOLDS[name].schema as { description?: string }).description ?? '';

export function newScanBody(data: NewScanData): Html {
  const { values, errors, csrfToken, idempotencyKey, credits, maxPagesLimit } = data;
  const error = (field: string): string | undefined => errorOf(errors, field);
  const decimal = { width: 'short', inputmode: 'decimal' } as const;
  return html`<div class="narrow">
    ${errorSummary(errors)} ${breadcrumb([{ text: 'Scans', href: '/dashboard' }, { text: 'New scan' }])}
    <h1>New scan</h1>
    <p>A scan reserves one credit per page, and charges the pages that it tests.${credits !== null && ` ${number(credits)} credits are available.`}</p>
    <form method="post" action="/dashboard/scans/new" novalidate>
      ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}
      ${textField({ name: 'url', label: 'Address', type: 'url', hint: 'The page to start from, such as https://example.com/', value: values.url, error: error('url'), required: true, maxlength: URL_MAX_LENGTH, autocomplete: 'url', spellcheck: false })}
      ${textField({ name: 'max_pages', label: 'Pages', hint: `At most ${number(maxPagesLimit)}. The scan follows links and sitemaps.`, value: values.max_pages, error: error('max_pages'), required: true, width: 'short', inputmode: 'numeric' })}
      ${checkbox({ name: 'partial', label: 'Scan fewer pages if there are not enough credits', checked: values.partial, required: false })}
      ${selectField({ name: 'wcag_version', label: 'WCAG version', value: values.wcag_version, error: error('wcag_version'), required: true, choices: plain(WCAG_VERSIONS) })}
      ${selectField({ name: 'wcag_level', label: 'WCAG level', hint: 'A level includes the ones below it.', value: values.wcag_level, error: error('wcag_level'), required: true, choices: plain(WCAG_LEVELS) })}
      ${selectField({ name: 'locale', label: 'Language of the reports', value: values.locale, error: error('locale'), required: true, choices: LOCALES.map((one) => ({ value: one, text: LANGUAGE_NAMES[one], lang: one })) })}
      <fieldset>
        <legend>Before the first page</legend>
        ${selectField({ name: 'consent', label: 'Dialog for consent to cookies', hint: 'The report names the consent product that was answered.', value: values.consent, error: error('consent'), required: true, choices: CONSENT_CHOICES.map((value) => ({ value, text: CONSENT_WORDS[value] })) })}
        ${data.allowPrepareSteps && textArea({ name: 'prepare', label: 'Steps', hint: STEPS_HINT, value: values.prepare, error: error('prepare'), attributes: { spellcheck: 'false', autocapitalize: 'off' } })}
      </fieldset>
      <fieldset>
        <legend>Thresholds</legend>
        <p class="hint">The scan passes if it meets every threshold. Without thresholds it has no verdict.</p>
        ${textField({ name: 'min_score', label: 'Minimum score', hint: '0 to 100.', value: values.min_score, error: error('min_score'), ...decimal })}
        ${textField({ name: 'max_violations', label: 'Maximum violations', hint: description('maxViolations'), value: values.max_violations, error: error('max_violations'), width: 'short', inputmode: 'numeric' })}
        ${selectField({ name: 'fail_on_severity', label: 'Severity', hint: description('failOnSeverity'), value: values.fail_on_severity, error: error('fail_on_severity'), choices: [{ value: '', text: 'Not checked' }, ...plain(IMPACTS)] })}
        ${textField({ name: 'min_coverage', label: 'Minimum coverage', hint: description('minCoverage'), value: values.min_coverage, error: error('min_coverage'), ...decimal })}
      </fieldset>
      ${button({ text: 'Start scan', kind: 'primary' })}
    </form>
  </div>`;
}

const STEPS_HINT = html`At most ${String(PREPARE_MAX)} steps that run once, such as to pass an age gate: a list in YAML of <code>goto</code>, <code>click</code>, <code>fill</code>, <code>waitFor</code> and <code>assert</code>, for example <code>- click: button.adult</code>. Values are not secret.`;

const plain = (values: readonly string[]) => values.map((value) => ({ value, text: value }));
