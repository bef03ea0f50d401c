/** The form for a scan: from typed texts to the body of a submission, with the schema and the messages of the API. */
import type { ScanOptions } from '../../core/scan/options.ts';
import { readSteps } from '../../core/scan/step-text.ts';
import type { ValidationFailure, ValidationItem } from '../errors.ts';
import { scanSubmission, toScanOptions, type ScanSubmission } from '../routes/scans.ts';
import { createValidatorCompiler } from '../validation.ts';
import type { FormError } from '../web/components/index.ts';
import type { Form } from '../web/html-scope.ts';

/** The fields, by the names of the API. */
const NUMBERS = ['max_pages', 'min_score', 'max_violations', 'min_coverage'] as const;
const TEXTS = ['url', 'wcag_level', 'wcag_version', 'fail_on_severity', 'locale', 'consent'] as const;
/** A list of steps in YAML. */
const STEPS = 'prepare';
const FIELDS = [...NUMBERS, ...TEXTS, STEPS] as const;
export type ScanField = (typeof FIELDS)[number];

/** What was typed. */
export type ScanFormValues = Readonly<Record<ScanField, string>> & { readonly partial: boolean };

export function readScanForm(form: Form): ScanFormValues {
  const fields = FIELDS.map((name) => [name, form.text(name)]);
  return { ...(Object.fromEntries(fields) as Record<ScanField, string>), partial: form.text('partial') !== '' };
}

/** The body that the API would get. Texts that are not numbers stay texts, so that the API's messages describe them. */
function bodyOfForm(values: ScanFormValues, prepare: unknown[]): Record<string, unknown> {
  const given = [...NUMBERS, ...TEXTS].filter((name) => values[name] !== '');
  const body = given.map((name) => [name, (NUMBERS as readonly string[]).includes(name) ? numberOf(values[name]) : values[name]]);
  return { ...Object.fromEntries(body), ...(prepare.length > 0 && { prepare }), fail_on_truncation: !values.partial };
}

const numberOf = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

export type CheckedForm = { ok: true; options: ScanOptions; body: Record<string, unknown> } | { ok: false; errors: FormError[] };

/** Returns a function that checks forms. @param maxPagesLimit the maximum number of pages of one scan */
export function createFormCheck(maxPagesLimit: number): (values: ScanFormValues) => CheckedForm {
  const check = createValidatorCompiler()({
    schema: scanSubmission(maxPagesLimit),
    method: 'POST',
    url: '/dashboard/scans/new',
    httpPart: 'body',
  });
  return (values) => {
    const read = readSteps(values.prepare);
    if (!read.ok) return { ok: false, errors: [{ field: STEPS, text: read.message }] };
    const body = bodyOfForm(values, read.steps);
    // The validation adds defaults.
    const checked = check(structuredClone(body)) as { value: ScanSubmission } | { error: ValidationFailure };
    if ('error' in checked) return { ok: false, errors: formErrors(checked.error.items) };
    const { value } = checked;
    return { ok: true, options: toScanOptions(value), body };
  };
}

/** The errors of a request as those of its form. */
export function formErrors(items: readonly ValidationItem[]): FormError[] {
  return items.map(({ loc, msg }) => ({ field: FIELDS.find((name) => name === loc[1]) ?? null, text: msg }));
}
