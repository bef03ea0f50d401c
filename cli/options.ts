/** The options of `curbcut scan` that describe the scan. Options for thresholds are derived from core's table. */
import { DEFAULT_QUEUE } from '../core/protocol/custom-resources.ts';
import { LOCALES, type Locale } from '../core/scan/locales.ts';
import { CONSENT_CHOICES, CrawlRules, ScanOptions, type ConsentChoice } from '../core/scan/options.ts';
import type { PrepareStep } from '../core/scan/steps.ts';
import { THRESHOLD_NAMES, THRESHOLDS, type ThresholdName, type Thresholds } from '../core/scan/thresholds.ts';
import { WCAG_LEVELS, WCAG_VERSIONS, type WcagLevel, type WcagVersion } from '../core/scan/wcag.ts';
import { numberOf } from './number-of.ts';
import { UsageError } from './errors.ts';
import type { SiteOptions } from './site-options.ts';

/** An option in --help and docs/cli.md. */
export interface OptionHelp {
  /** With a placeholder for its value: `--min-score N`. */
  option: string;
  meaning: string;
}

interface ValueSchema {
  type: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  default?: unknown;
  enum?: string[];
}

const schemaOf = (name: ThresholdName): ValueSchema => THRESHOLDS[name].schema as ValueSchema;

/** Converts a description to a phrase with the allowed values. */
function phrase({ description = '', minimum, maximum, enum: values }: ValueSchema): string {
  const words = description.charAt(0).toLowerCase() + description.slice(1).replace(/\.$/, '');
  if (values !== undefined) return `${words}: ${values.join(', ')}`;
  return minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
    ? `${words} (${minimum} to ${maximum})`
    : words;
}

export const THRESHOLD_HELP: OptionHelp[] = THRESHOLD_NAMES.map((name) => ({
  option: `--${THRESHOLDS[name].flag.join(' ')}`,
  meaning: phrase(schemaOf(name)),
}));

const { maxPages, wcagLevel, wcagVersion, locale } = ScanOptions.properties as unknown as Record<
  'maxPages' | 'wcagLevel' | 'wcagVersion' | 'locale',
  ValueSchema
>;
const { settleMs } = CrawlRules.properties as unknown as Record<'settleMs', ValueSchema>;
const TARGETS = WCAG_VERSIONS.flatMap((version) => WCAG_LEVELS.map((level) => `${version}-${level}`));
const DEFAULT_TARGET = `${String(wcagVersion.default)}-${String(wcagLevel.default)}`;

const SITE_OPTION_HELP: OptionHelp[] = [
  { option: '--max-pages N', meaning: `maximum number of pages, one credit per tested page (default ${String(maxPages.default)})` },
  { option: '--include GLOB', meaning: 'only pages whose path and query match, such as /docs/**; may be given several times' },
  { option: '--exclude GLOB', meaning: 'skip pages whose path and query match; may be given several times' },
  { option: '--wait-for SELECTOR', meaning: 'test each page when an element matches this CSS selector' },
  { option: '--settle-ms N', meaning: `additional milliseconds for each page to show its content (0 to ${String(settleMs.maximum)})` },
  {
    option: '--consent CHOICE',
    meaning: `the answer to the dialog that asks for consent to cookies: ${CONSENT_CHOICES.join(', ')} (default keep)`,
  },
  { option: '--prepare FILE', meaning: 'steps in YAML or JSON that run once before the pages, such as to answer an age gate (prepare.md)' },
  {
    option: '--locale LANGUAGE',
    meaning: `the language of findings and reports, in which pages are requested too: ${LOCALES.join(', ')} (default ${String(locale.default)})`,
  },
  { option: '--no-pictures', meaning: 'no pictures of elements in the report' },
  { option: '--no-advice', meaning: 'no best practices that WCAG does not require' },
  { option: '--wcag TARGET', meaning: TARGETS.map((target) => (target === DEFAULT_TARGET ? `${target} (default)` : target)).join(', ') },
];

/** The options of `curbcut scan`, in addition to the thresholds. */
export const SCAN_OPTION_HELP: OptionHelp[] = [
  ...SITE_OPTION_HELP,
  { option: '--local', meaning: 'scan with the Chromium of this machine, without a service or credits' },
  { option: '--auth FOLDER', meaning: 'with --local: sign in with the files username and password, or cookie, of this folder' },
  { option: '--partial', meaning: 'if there are not enough credits, scan as many pages as there are credits' },
  { option: '--idempotency-key K', meaning: 'for 24 hours, the same key and options return the same scan and are charged once' },
];

/** The options that only `kubectl curbcut scan` has. */
export const RESOURCE_OPTION_HELP: OptionHelp[] = [
  { option: '--name NAME', meaning: "the resource's name (default: the site's host and a random part)" },
  { option: '--queue NAME', meaning: `the ScanQueue (default: the one named ${DEFAULT_QUEUE})` },
  { option: '--priority N', meaning: 'the order among the waiting scans of your organisation, higher first (default 0)' },
];

/** The options of `kubectl curbcut scan`, in addition to the thresholds. */
export const MANIFEST_OPTION_HELP: OptionHelp[] = [...SITE_OPTION_HELP, ...RESOURCE_OPTION_HELP];

/** For `parseArgs`. */
export const THRESHOLD_ARGUMENTS = Object.fromEntries(
  THRESHOLD_NAMES.map((name) => [THRESHOLDS[name].flag[0], { type: 'string' }]),
) as Record<string, { type: 'string' }>;

/** For `parseArgs`: the options that describe the site and its pages. */
export const SITE_ARGUMENTS = {
  'max-pages': { type: 'string' },
  include: { type: 'string', multiple: true },
  exclude: { type: 'string', multiple: true },
  'wait-for': { type: 'string' },
  'settle-ms': { type: 'string' },
  consent: { type: 'string' },
  prepare: { type: 'string' },
  locale: { type: 'string' },
  'no-pictures': { type: 'boolean', default: false },
  'no-advice': { type: 'boolean', default: false },
  wcag: { type: 'string' },
} as const;

interface SiteValues {
  'max-pages'?: string;
  include?: string[];
  exclude?: string[];
  'wait-for'?: string;
  'settle-ms'?: string;
  consent?: string;
  prepare?: string;
  locale?: string;
  'no-pictures': boolean;
  'no-advice': boolean;
  wcag?: string;
}

/** Reads the file of `--prepare`. The parser is loaded only for it. */
const stepsOf = async (file: string): Promise<PrepareStep[]> => (await import('./steps.ts')).stepsOf(file);

/** Reads the options about the site from parsed arguments. The service checks the bounds. @throws UsageError */
export async function siteOptionsFrom(values: SiteValues): Promise<SiteOptions> {
  const crawl = stated({
    include: values.include,
    exclude: values.exclude,
    waitFor: values['wait-for'],
    settleMs: numberOf('scan', 'settle-ms', values['settle-ms'], true),
    consent: values.consent === undefined ? undefined : (oneOf('consent', values.consent, CONSENT_CHOICES) as ConsentChoice),
    prepare: values.prepare === undefined ? undefined : await stepsOf(values.prepare),
  });
  return stated({
    maxPages: numberOf('scan', 'max-pages', values['max-pages'], true),
    ...wcagOf(values.wcag),
    locale: values.locale === undefined ? undefined : (oneOf('locale', values.locale, LOCALES) as Locale),
    pictures: values['no-pictures'] ? false : undefined,
    advice: values['no-advice'] ? false : undefined,
    crawl: Object.keys(crawl).length === 0 ? undefined : crawl,
  });
}

/** Removes the fields without a value. */
function stated<T extends object>(values: { [K in keyof T]: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** Reads the thresholds from parsed arguments. The service checks the bounds. @throws UsageError */
export function thresholdsFrom(values: Readonly<Record<string, unknown>>): Thresholds {
  const given = THRESHOLD_NAMES.flatMap((name): [string, unknown][] => {
    const [flag] = THRESHOLDS[name].flag;
    const text = values[flag] as string | undefined;
    if (text === undefined) return [];
    const { type, enum: allowed } = schemaOf(name);
    return [[name, allowed === undefined ? numberOf('scan', flag, text, type === 'integer') : oneOf(flag, text, allowed)]];
  });
  return Object.fromEntries(given);
}

function oneOf(flag: string, text: string, allowed: readonly string[]): string {
  const found = allowed.find((value) => value === text.toLowerCase());
  if (found === undefined) throw new UsageError(`--${flag} ${text} must be one of ${allowed.join(', ')}.`, 'scan');
  return found;
}

/** Reads a target such as `2.2-AA`. @throws UsageError */
function wcagOf(text: string | undefined): { wcagVersion?: WcagVersion; wcagLevel?: WcagLevel } {
  if (text === undefined) return {};
  const [, version, level] = /^(?:wcag)?\s*([\d.]+)[-\s]?(a{1,3})$/i.exec(text) ?? [];
  const found = {
    wcagVersion: WCAG_VERSIONS.find((one) => one === version),
    wcagLevel: WCAG_LEVELS.find((one) => one === level?.toUpperCase()),
  };
  if (found.wcagVersion === undefined || found.wcagLevel === undefined)
    throw new UsageError(`--wcag ${text} is not a valid target. Examples: 2.1-AA, 2.2-AAA.`, 'scan');
  return found;
}

/** Reads an idempotency key: text that a header can carry. @throws UsageError */
export function idempotencyKeyOf(text: string | undefined): string | undefined {
  if (text === undefined || /^(?=.{1,255}$)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  throw new UsageError(
    `--idempotency-key ${JSON.stringify(text)} must be 1 to 255 ASCII characters without a space at either end.`,
    'scan',
  );
}
