/** Scans that check one page of an earlier scan again: they have the options of that scan, and no thresholds. */
import { type Static, Type } from 'typebox';
import { BaselineChoice } from '../../core/scan/baseline.ts';
import { type ScanOptions, withDefaults } from '../../core/scan/options.ts';
import type { SubmittedAuth } from '../../core/scan/sign-in.ts';
import { PREPARE_MAX, type PrepareStep } from '../../core/scan/steps.ts';
import { bareHost, siteOf } from '../../core/scan/site.ts';
import { isCheck, type ScanRow } from '../../stores/scans/scan-row.ts';
import { ValidationFailure } from '../http/errors.ts';

const { cause } = BaselineChoice.properties.check.properties;

/** The field of a submission. */
export const CheckOf = Type.Object(
  { scan: Type.String({ format: 'uuid', description: 'The ID of the scan.' }), cause },
  {
    additionalProperties: false,
    description:
      'Check whether violations that a scan found on the page `url` are fixed: those of a root cause, or all. The check tests one page ' +
      "with the scan's options, has no verdict, and is no result of its site. `baseline.check` has the answer. " +
      'Of the other fields, only `metadata` and `fail_on_truncation` may be set.',
  },
);
export type CheckOf = Static<typeof CheckOf>;

const CHECK_FIELDS = ['url', 'check_of', 'metadata', 'fail_on_truncation'];

/** Refuses options in the body of a check, as it was sent. @throws ValidationFailure */
export function refuseOptions(body: unknown): void {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'check_of')) return;
  const other = Object.keys(body).filter((name) => !CHECK_FIELDS.includes(name));
  if (other.length > 0)
    throw new ValidationFailure(
      other.slice(0, 50).map((name) => ({ loc: ['body', name], msg: 'A check has the options of its scan.', type: 'check.options' })),
    );
}

/** What a check is submitted with. */
export interface PlannedCheck {
  options: ScanOptions;
  baseline: BaselineChoice;
  auth?: SubmittedAuth;
}

/**
 * Plans the check of a page.
 * @param url of the page
 * @param find returns a scan of the caller
 * @throws ValidationFailure if that scan cannot be checked again
 */
export async function planCheck(
  { scan, cause: asked }: CheckOf,
  url: string,
  find: (scanId: string) => Promise<ScanRow | null>,
): Promise<PlannedCheck> {
  const named = await find(scan.toLowerCase());
  // After another change, a check is repeated against the same scan.
  const origin = named !== null && isCheck(named) ? await find(named.baseline!.scan!) : named;
  if (origin === null || origin.phase !== 'done')
    throw refused(['check_of', 'scan'], `There is no done scan ${scan} whose pages can be checked again.`, 'check.not_found');
  const { auth, signedIn, id } = origin;
  // A scan of an earlier version lacks some rules.
  const options = withDefaults(origin.options);
  if (signedIn && auth === undefined)
    throw refused(['check_of', 'scan'], 'The scan signed in with a Secret of its namespace, which only a manifest can name.');
  if (!isOfSite(url, options)) throw refused(['url'], `The page is not on the site of the scan, ${siteOf(options.url)}.`);
  // The keys of a sign-in are sent to the origin of the first page, which is now the page.
  const { origin: signsInAt } = new URL(options.url);
  if (auth !== undefined && new URL(url).origin !== signsInAt)
    throw refused(['url'], `The scan signed in, and its keys are only for pages of ${signsInAt}.`);
  const prepare = stepsFrom(options);
  if (prepare.length > PREPARE_MAX)
    throw refused(['check_of', 'scan'], `The steps that prepare the scan begin at ${options.url}. Let them begin with goto.`);
  return {
    options: { ...options, url, maxPages: 1, thresholds: {}, crawl: { ...options.crawl, urls: [], prepare } },
    baseline: { scan: id, check: asked === undefined ? {} : { cause: asked } },
    ...(auth && { auth }),
  };
}

const refused = (loc: string[], msg: string, type: 'check.not_found' | 'check.refused' = 'check.refused'): ValidationFailure =>
  new ValidationFailure([{ loc: ['body', ...loc], msg, type }]);

/** The hosts were checked when the scan was submitted. */
function isOfSite(page: string, { url, crawl: { hosts } }: ScanOptions): boolean {
  const [parsed, start] = [URL.parse(page), URL.parse(url)];
  if (parsed === null || start === null) return false;
  const isNamed = (host: string): boolean => (host.startsWith('*.') ? parsed.host.endsWith(host.slice(1)) : host === parsed.host);
  return bareHost(parsed) === bareHost(start) || hosts.some((host) => isNamed(host.toLowerCase()));
}

/** The steps of a scan, which begin at its first page and not at the page of the check. */
function stepsFrom({ url, crawl: { prepare } }: ScanOptions): PrepareStep[] {
  if (prepare.length === 0) return [];
  const steps = prepare.map(({ goto, ...step }) => (goto === undefined ? step : { goto: URL.parse(goto, url)?.href ?? goto }));
  return prepare[0]!.goto === undefined ? [{ goto: url }, ...steps] : steps;
}
