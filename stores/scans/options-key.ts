/** Which scans of a site can be compared: those with the same rules, the same choice of pages and the same sign-in. Pure. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { withDefaults, type ScanOptions } from '../../core/scan/options.ts';
import type { SubmittedAuth } from '../../core/scan/scan-secrets.ts';
import type { SignInSpec } from '../../core/scan/sign-in.ts';

/** The options that decide what a scan finds on a site that stays the same. */
const comparedOptions = ({ wcagLevel, wcagVersion, maxPages, crawl }: ScanOptions) => ({ wcagLevel, wcagVersion, maxPages, ...crawl });
const DEFAULTS: Readonly<Record<string, unknown>> = comparedOptions(withDefaults({ url: '' }));

const OPTIONS_KEY_LENGTH = 16;

/**
 * Identifies the compared options of a scan and its sign-in, whatever the order of their fields. Scans of test keys have keys of
 * their own. Defaults are no part of it: an option that a later version adds changes no key.
 */
export function optionsKeyOf({ options, auth, test }: { options: ScanOptions; auth?: SubmittedAuth | SignInSpec; test?: true }): string {
  const sorted = (_name: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const chosen = Object.entries(comparedOptions(options)).filter(([name, value]) => !isDeepStrictEqual(value, DEFAULTS[name]));
  const text = JSON.stringify([Object.fromEntries(chosen), auth ?? null, test === true], sorted);
  return createHash('sha256').update(text).digest('hex').slice(0, OPTIONS_KEY_LENGTH);
}
