/** The options of `curbcut scan` that describe the scan. Options for thresholds are derived from core's table. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import {
  BASELINE_COUNTS,
  BASELINE_TEXT,
  type BaselineCount,
  baselineMistake,
  readBaselineText,
  type BaselineChoice,
} from '../core/scan/baseline.ts';
import { addressListMistake, readAddressList } from '../core/scan/address-list.ts';
import { LOCALES } from '../core/scan/locales.ts';
import {
  CONSENT_CHOICES,
  CrawlRules,
  HASH_ROUTES,
  HOST_PATTERN,
  ScanOptions,
  WCAG_LEVELS,
  WCAG_VERSIONS,
  withDefaults,
} from '../core/scan/options.ts';
import { STATE_KINDS } from '../core/scan/states.ts';
import { THRESHOLD_NAMES, THRESHOLDS, type ThresholdName, type Thresholds } from '../core/scan/thresholds.ts';
import { grouped, type OptionSpec, type OptionTable } from './commands/command.ts';
import { METADATA_OPTIONS } from './metadata.ts';
import { numberOf } from './values.ts';
import { errorMessage, UsageError } from './errors.ts';
import type { SiteOptions } from './links.ts';

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

const THRESHOLD_OPTIONS: OptionTable = Object.fromEntries(
  THRESHOLD_NAMES.map((name) => {
    const [flag, value] = THRESHOLDS[name].flag;
    const { enum: choices } = schemaOf(name);
    return [flag, { value, ...(choices !== undefined && { choices }), meaning: phrase(schemaOf(name)) }];
  }),
);

const BASELINE_OPTIONS = {
  baseline: {
    value: 'WHICH',
    meaning: `the earlier scan to compare with: ${BASELINE_TEXT}; with --local: its JSON export`,
  },
  'baseline-site': {
    value: 'HOST',
    meaning: 'with a baseline by metadata: the host of its scans, if it is another one, as for a preview',
  },
  'baseline-optional': { meaning: 'no new violations are counted if there is no scan to compare with' },
  'baseline-count': {
    value: 'WHAT',
    meaning: `what counts as new: ${BASELINE_COUNTS.join(' or ')} (default ${BASELINE_COUNTS[0]}); causes: only violations of new root causes`,
  },
} as const;

const schemas = { ...ScanOptions.properties, ...CrawlRules.properties } as unknown as Record<string, ValueSchema>;
const defaultOf = (name: string): string => String(schemas[name]!.default);
const WCAG_TARGETS = WCAG_VERSIONS.flatMap((version) => WCAG_LEVELS.map((level) => `${version}-${level}`));
const DEFAULT_TARGET = `${defaultOf('wcagVersion')}-${defaultOf('wcagLevel')}`;

/** An option that describes the site and its pages. */
interface SiteOption extends OptionSpec {
  /** @param given a list if it may be given several times @throws UsageError */
  read(given: never): SiteOptions | Promise<SiteOptions>;
}

/** By name. */
const SITE: Readonly<Record<string, SiteOption>> = {
  'max-pages': {
    value: 'N',
    meaning: `maximum number of pages, one credit per tested page (default ${defaultOf('maxPages')})`,
    read: (text: string) => ({ maxPages: numberOf('scan', 'max-pages', text, true) }),
  },
  include: {
    value: 'GLOB',
    multiple: true,
    meaning: 'only pages whose path and query match, such as /docs/**; may be given several times',
    read: (include: string[]) => ({ crawl: { include } }),
  },
  exclude: {
    value: 'GLOB',
    multiple: true,
    meaning: 'skip pages whose path and query match; may be given several times',
    read: (exclude: string[]) => ({ crawl: { exclude } }),
  },
  'hash-routes': {
    value: 'FRAGMENTS',
    choices: HASH_ROUTES,
    meaning: `the fragments that are pages: paths (#/ and #!) or all that name no element (default ${defaultOf('hashRoutes')})`,
    read: (text: string) => ({ crawl: { hashRoutes: oneOf('hash-routes', text, HASH_ROUTES) } }),
  },
  host: {
    value: 'HOST',
    multiple: true,
    meaning: 'a further host of the site, such as shop.example.org or *.example.org; may be given several times',
    read: (hosts: string[]) => ({ crawl: { hosts: hosts.map((host) => hostOf('host', host)) } }),
  },
  'rewrite-host': {
    value: 'HOST',
    meaning: 'the production host that links of a preview name, such as www.example.org; they are followed on the scanned host',
    read: (host: string) => ({ crawl: { rewriteHost: hostOf('rewrite-host', host) } }),
  },
  urls: {
    value: 'FILE',
    meaning: 'test only the addresses of this file and follow no links: one per line, or CSV with a heading; - is standard input',
    read: async (file: string) => ({ crawl: { urls: await urlsOf(file) } }),
  },
  'wait-for': {
    value: 'SELECTOR',
    meaning: 'test each page when an element matches this CSS selector',
    read: (waitFor: string) => ({ crawl: { waitFor } }),
  },
  'settle-ms': {
    value: 'N',
    meaning: `additional milliseconds for each page to show its content (0 to ${String(schemas.settleMs!.maximum)})`,
    read: (text: string) => ({ crawl: { settleMs: numberOf('scan', 'settle-ms', text, true) } }),
  },
  consent: {
    value: 'CHOICE',
    choices: CONSENT_CHOICES,
    meaning: `the answer to the dialog that asks for consent to cookies: ${CONSENT_CHOICES.join(', ')} (default ${defaultOf('consent')})`,
    read: (text: string) => ({ crawl: { consent: oneOf('consent', text, CONSENT_CHOICES) } }),
  },
  prepare: {
    value: 'FILE',
    meaning: 'steps in YAML or JSON that run once before the pages, such as to answer an age gate',
    // The parser is loaded only for it.
    read: async (file: string) => ({ crawl: { prepare: await (await import('./steps.ts')).stepsOf(file) } }),
  },
  locale: {
    value: 'LANGUAGE',
    choices: LOCALES,
    meaning: `the language of findings and reports, in which pages are requested too: ${LOCALES.join(', ')} (default ${defaultOf('locale')})`,
    read: (text: string) => ({ locale: oneOf('locale', text, LOCALES) }),
  },
  'no-pictures': { meaning: 'no pictures of elements in the report', read: () => ({ pictures: false }) },
  states: {
    value: 'KINDS',
    meaning: `the states in which pages are tested and whose violations count: ${STATE_KINDS.join(', ')}, separated by commas, or none`,
    read: (text: string) => ({ states: text === 'none' ? [] : text.split(',').map((kind) => oneOf('states', kind, STATE_KINDS)) }),
  },
  parallelism: {
    value: 'N',
    meaning: 'the most pods of the service that test pages at the same time (default 1)',
    read: (text: string) => ({ parallelism: numberOf('scan', 'parallelism', text, true) }),
  },
  'no-advice': { meaning: 'no best practices that WCAG does not require', read: () => ({ advice: false }) },
  wcag: {
    value: 'TARGET',
    choices: WCAG_TARGETS,
    meaning: WCAG_TARGETS.map((target) => (target === DEFAULT_TARGET ? `${target} (default)` : target)).join(', '),
    read: wcagOf,
  },
};

const SITE_OPTIONS: OptionTable = Object.fromEntries(Object.entries(SITE).map(([name, { read: _read, ...spec }]) => [name, spec]));

/** The options of `curbcut scan` but for the output, in the order of --help. */
export const SCAN_OPTIONS = {
  ...grouped('Thresholds (without any, every completed scan exits with 0):', {
    // Their names are not known to the compiler: thresholdsFrom reads them, as siteOptionsFrom does those of the site.
    ...(THRESHOLD_OPTIONS as object),
    ...BASELINE_OPTIONS,
  }),
  ...grouped('Scan:', {
    ...(SITE_OPTIONS as object),
    ...METADATA_OPTIONS,
    local: { meaning: 'scan with the Chromium of this machine, without a service or credits' },
    'known-issues': { value: 'FILE', meaning: 'with --local: judge without the known issues of this manifest, in YAML or JSON' },
    'known-issues-site': {
      value: 'HOST',
      meaning: 'use those of this host, if it is not that of the URL, as for a site on this machine',
    },
    auth: { value: 'FOLDER', meaning: 'with --local: sign in with the files username and password, or cookie, of this folder' },
    'auth-secret': { value: 'NAME', meaning: 'sign in with this Secret of the service, if its operator allows it' },
    partial: { meaning: 'if there are not enough credits, scan as many pages as there are credits' },
    'idempotency-key': { value: 'K', meaning: 'for 24 hours, the same key and options return the same scan and are charged once' },
  }),
} as const;

export interface BaselineValues {
  baseline?: string;
  'baseline-site'?: string;
  'baseline-optional': boolean;
  'baseline-count'?: string;
}

/** Reads the baseline from parsed arguments. @throws UsageError */
export function baselineFrom(values: BaselineValues, thresholds: Thresholds): { baseline?: BaselineChoice } {
  const { baseline: text, 'baseline-site': site, 'baseline-optional': optional } = values;
  if (text === undefined) {
    if (site !== undefined || optional || countFrom(values).count !== undefined)
      throw new UsageError('--baseline-site, --baseline-optional and --baseline-count need --baseline.', 'scan');
    checkBaseline(undefined, thresholds);
    return {};
  }
  const named = readBaselineText(text);
  if (named === null) throw new UsageError(`--baseline ${text} must be ${BASELINE_TEXT}.`, 'scan');
  const baseline = { ...named, ...(site !== undefined && { site }), ...(optional && { optional }), ...countFrom(values) };
  checkBaseline(baseline, thresholds);
  return { baseline };
}

/** @throws UsageError */
export function countFrom({ 'baseline-count': text }: BaselineValues): { count?: BaselineCount } {
  const count = BASELINE_COUNTS.find((one) => one === text);
  if (count === undefined && text !== undefined) throw new UsageError(`--baseline-count must be ${BASELINE_COUNTS.join(' or ')}.`, 'scan');
  return count === undefined || count === 'elements' ? {} : { count };
}

/** @throws UsageError */
function checkBaseline(baseline: BaselineChoice | undefined, { maxNewViolations }: Thresholds): void {
  const mistake = baselineMistake(baseline, maxNewViolations !== undefined);
  if (mistake !== null) throw new UsageError(baseline === undefined ? '--max-new-violations needs --baseline.' : mistake, 'scan');
}

/** Reads the options about the site from parsed arguments. The service checks the bounds. @throws UsageError */
export async function siteOptionsFrom(values: Readonly<Record<string, unknown>>): Promise<SiteOptions> {
  const options: SiteOptions = {};
  for (const [name, { read }] of Object.entries(SITE)) {
    if (values[name] === undefined || values[name] === false) continue;
    const { crawl, ...others } = await read(values[name] as never);
    Object.assign(options, others, crawl && { crawl: { ...options.crawl, ...crawl } });
  }
  return options;
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

export function oneOf<T extends string>(flag: string, text: string, allowed: readonly T[], command = 'scan'): T {
  const found = allowed.find((value) => value === text.toLowerCase());
  if (found === undefined) throw new UsageError(`--${flag} ${text} must be one of ${allowed.join(', ')}.`, command);
  return found;
}

/** Reads the file of `--urls`. An empty one must not start a crawl of the whole site. @throws UsageError */
async function urlsOf(file: string): Promise<string[]> {
  const reading = file === '-' ? text(process.stdin) : readFile(file, 'utf8');
  const urls = readAddressList(
    await reading.catch((error: unknown) => {
      throw new UsageError(`--urls ${file}: the file cannot be read (${errorMessage(error)}).`, 'scan');
    }),
  );
  if (urls.length === 0) throw new UsageError(`--urls ${file}: there is no address in it.`, 'scan');
  return urls;
}

/** Checks the list of `--urls`, and asks for as many pages as it names unless the user said how many. @throws UsageError */
export function withListedPages<T extends SiteOptions & { url: string }>(scan: T): T {
  const { crawl, maxPages } = withDefaults(scan);
  if (crawl.urls.length === 0 || !URL.canParse(scan.url)) return scan;
  const mistake = addressListMistake({ url: scan.url, maxPages, crawl });
  if (mistake !== null) throw new UsageError(`--urls: ${mistake.message}`, 'scan');
  return { ...scan, maxPages };
}

/** @throws UsageError */
function hostOf(flag: 'host' | 'rewrite-host', text: string): string {
  if (new RegExp(HOST_PATTERN).test(text) && (flag === 'host' || !text.startsWith('*'))) return text;
  const examples = `shop.example.org${flag === 'host' ? ', *.example.org' : ''} or shop.example.org:8080`;
  throw new UsageError(`--${flag} ${text} must be a host such as ${examples}.`, 'scan');
}

/** Reads a target such as `2.2-AA`. @throws UsageError */
function wcagOf(text: string): Pick<SiteOptions, 'wcagVersion' | 'wcagLevel'> {
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
