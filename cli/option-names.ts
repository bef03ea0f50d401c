/** The option of `curbcut scan` for each field of a submission, so that errors of the service name what the user typed. */
import { THRESHOLD_NAMES, THRESHOLDS } from '../core/scan/thresholds.ts';
import { snakeCase } from '../core/schemas.ts';

/** Fields whose option has another name. All others have their own with hyphens. */
const OTHERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(THRESHOLD_NAMES.map((name) => [snakeCase(name), `--${THRESHOLDS[name].flag[0]}`])),
  url: 'The URL',
  http_fallback: 'The URL',
  wcag_level: '--wcag',
  wcag_version: '--wcag',
  pictures: '--no-pictures',
  advice: '--no-advice',
  auth: '--auth-secret',
  fail_on_truncation: '--partial',
  metadata: '--metadata',
};

/** @param path that of a value in the body of a submission */
export function optionOf([field = '', ...path]: readonly (string | number)[]): string {
  const option = OTHERS[String(field)] ?? `--${String(field).replaceAll('_', '-')}`;
  const parts = path.map((part) => (typeof part === 'number' ? `item ${part + 1}` : part));
  return parts.length === 0 ? option : `${option} (${parts.join(', ')})`;
}
