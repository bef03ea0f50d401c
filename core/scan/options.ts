/**
 * Scan options: one schema with names, bounds, defaults and descriptions. The custom resource, the HTTP API, the command
 * line, the pod's input, the JSON export and docs/reference.md are derived from it.
 */
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { oneOf } from '../schemas.ts';
import { LISTED_PATTERN, listedUrls, URLS_MAX } from './address-list.ts';
import { LOCALES } from './locales.ts';
import { STATE_KINDS } from './states.ts';
import { PREPARE_MAX, PrepareStep } from './steps.ts';
import { URL_MAX_LENGTH } from './targets.ts';
import { Thresholds } from './thresholds.ts';

export const WCAG_LEVELS = ['A', 'AA', 'AAA'] as const;
export type WcagLevel = (typeof WCAG_LEVELS)[number];

export const WCAG_VERSIONS = ['2.1', '2.2'] as const;
export type WcagVersion = (typeof WCAG_VERSIONS)[number];

const LEVELS: Readonly<Record<WcagLevel, readonly string[]>> = { A: ['a'], AA: ['a', 'aa'], AAA: ['a', 'aa', 'aaa'] };
const VERSIONS: Readonly<Record<WcagVersion, readonly string[]>> = { '2.1': ['2', '21'], '2.2': ['2', '21', '22'] };

/**
 * axe-core's rule tags for a target, cumulatively: 2.2 AA runs the rules of 2.0, 2.1 and 2.2 at A and AA.
 * Tags that axe-core does not define match no rule.
 */
export function axeTags(level: WcagLevel, version: WcagVersion): string[] {
  return VERSIONS[version].flatMap((prefix) => LEVELS[level].map((suffix) => `wcag${prefix}${suffix}`));
}

/**
 * The success criteria among a rule's tags, as `1.4.3`. Tags are `wcag` + principle + guideline + criterion,
 * and only the criterion may have two digits (`wcag1412` is 1.4.12).
 */
export function successCriteria(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => {
    const match = /^wcag(\d)(\d)(\d{1,2})$/.exec(tag);
    return match ? [`${match[1]}.${match[2]}.${match[3]}`] : [];
  });
}

/** The largest `maxPages` that a custom resource accepts. Each installation has a lower limit of its own. */
export const MAX_PAGES_CEILING = 5000;

/** The largest `parallelism`. More pods would wait for each other: the pages in work at the same time are bounded (`crawl/queue.ts`). */
export const PODS_MAX = 16;

/** What a scan does with the dialog that asks for consent to cookies. */
export const CONSENT_CHOICES = ['keep', 'reject', 'accept'] as const;
export type ConsentChoice = (typeof CONSENT_CHOICES)[number];

/** Which fragments of addresses are pages. */
export const HASH_ROUTES = ['paths', 'all'] as const;
export type HashRoutes = (typeof HASH_ROUTES)[number];

/** A host name or an address, perhaps with a port. */
const HOST = '([A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?';
/** All names below a domain of at least two labels. */
const DOMAIN = '\\*(\\.[A-Za-z0-9_-]+)+\\.[A-Za-z][A-Za-z0-9-]*(:[0-9]{1,5})?';
/** What an entry of `CrawlRules.hosts` looks like. */
export const HOST_PATTERN = `^(${HOST}|${DOMAIN})$`;
const HOST_MAX_LENGTH = 260;

const globs = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { default: [], maxItems: 50, description });

/** Which pages of a site belong to a scan. */
export const CrawlRules = Type.Object(
  {
    include: globs('Only pages whose path and query match one of these globs (* within a segment, ** across). Empty: every page.'),
    exclude: globs('Skip pages whose path and query match one of these globs.'),
    hashRoutes: oneOf(HASH_ROUTES, {
      default: 'paths',
      description:
        'Which fragments are pages: paths takes those that begin with #/ or #!, all also takes those that name no element of their page.',
    }),
    hosts: Type.Array(Type.String({ minLength: 1, maxLength: HOST_MAX_LENGTH, pattern: HOST_PATTERN }), {
      default: [],
      maxItems: 20,
      description:
        'Further hosts of the site, such as shop.example.org, or *.example.org for all names below. ' +
        'Pages on them that links or sitemaps name are tested too, each host by its own robots.txt and rate limit. ' +
        'They do not get the sign-in, the prepared state and the answer to the consent dialog.',
    }),
    rewriteHost: Type.String({
      default: '',
      maxLength: HOST_MAX_LENGTH,
      pattern: `^(${HOST})?$`,
      description:
        'The production host that the links of a preview name, such as www.example.org. ' +
        'Links, redirects and sitemap entries that lead there are followed on the host of the scan. Empty: none.',
    }),
    urls: Type.Array(Type.String({ minLength: 1, maxLength: URL_MAX_LENGTH, pattern: LISTED_PATTERN }), {
      default: [],
      maxItems: URLS_MAX,
      description:
        'Only these addresses are tested, in this order, instead of what links and sitemaps name: addresses on the host of the URL or in hosts, ' +
        'or paths such as /about. At most the maximum number of pages. The URL is loaded first, and tested if it is one of them. Empty: no list.',
    }),
    sitemap: Type.Boolean({ default: true, description: "Whether the site's sitemaps add pages." }),
    respectRobots: Type.Boolean({ default: true, description: 'Whether to obey robots.txt.' }),
    waitFor: Type.String({
      default: '',
      maxLength: 512,
      description: 'A CSS selector. Each page is tested when an element matches it, or when the time for it is over. Empty: no wait.',
    }),
    settleMs: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 0,
      description: 'The additional time in milliseconds that every page gets to show its content after it has loaded.',
    }),
    consent: oneOf(CONSENT_CHOICES, {
      default: 'keep',
      description:
        'What the scan answers to the dialog that asks for consent to cookies: keep leaves it open on every page. With reject and accept, the start page is tested with the dialog and after the answer, and all other pages after it. The report names the consent product, or says that none was recognised.',
    }),
    prepare: Type.Array(PrepareStep, {
      default: [],
      maxItems: PREPARE_MAX,
      description:
        'Steps in the browser, each with one of goto, fill, click, waitFor and assert. They run once for the scan, after the sign-in and the answer to the consent dialog, and begin at the URL of the scan; each page starts with the cookies and the storage that they lead to. They cannot leave the site.',
    }),
  },
  { default: {}, description: 'Rules for the pages of the site that belong to the scan. By default, all pages do.' },
);
export type CrawlRules = Static<typeof CrawlRules>;

/** The options of a scan, with all defaults filled in. */
export const ScanOptions = Type.Object({
  url: Type.String({
    maxLength: URL_MAX_LENGTH,
    description:
      'The page to start from, http or https. It must be publicly reachable, or allowed by the installation (targets.allow of the chart).',
  }),
  httpFallback: Type.Boolean({
    default: false,
    description:
      'Whether the scan starts at http:// if the host does not answer at the https:// address. Forms and the command line set it for an address that was typed without a scheme.',
  }),
  maxPages: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGES_CEILING,
    default: 5,
    description:
      'The maximum number of pages to crawl and test, one credit per tested page. Each installation sets a limit ' +
      '(scans.maxPages of the chart, 500 by default).',
  }),
  wcagLevel: oneOf(WCAG_LEVELS, { default: 'AA', description: 'The WCAG conformance level. A level includes the ones below it.' }),
  wcagVersion: oneOf(WCAG_VERSIONS, { default: '2.1', description: 'The WCAG version. A version includes the ones before it.' }),
  thresholds: Thresholds,
  crawl: CrawlRules,
  locale: oneOf(LOCALES, { default: 'en', description: 'The language of findings and reports, in which pages are requested too.' }),
  pictures: Type.Boolean({ default: true, description: 'Whether the report has pictures of elements, one for each root cause.' }),
  advice: Type.Boolean({
    default: true,
    description: 'Whether the report lists best practices that WCAG does not require. They never affect the result.',
  }),
  states: Type.Optional(
    Type.Array(oneOf(STATE_KINDS), {
      maxItems: STATE_KINDS.length,
      description:
        'The states in which pages are tested besides the one at rest. What fails only in them counts like other violations. ' +
        'Absent: all but opened, and what fails only in them needs review.',
    }),
  ),
  parallelism: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PODS_MAX,
      description:
        'The most pods that test pages of the scan at the same time. Each takes a place of the queue, and as many start as are free. ' +
        'The result is the same with any number. A scan that signs in, prepares its pages or answers a dialog has one. Absent: one.',
    }),
  ),
});
export type ScanOptions = Static<typeof ScanOptions>;
export type OptionName = keyof ScanOptions;

/** Options as a caller sends them. All except `url` are optional. */
export type GivenOptions = Pick<ScanOptions, 'url'> & Partial<Omit<ScanOptions, 'url' | 'crawl'> & { crawl: Partial<CrawlRules> }>;

/** The options, in addition to `thresholds` and `httpFallback`, that a submission over HTTP may set, with their labels in forms. */
export const OPTION_LABELS = {
  url: 'Address',
  maxPages: 'Pages',
  wcagLevel: 'WCAG level',
  wcagVersion: 'WCAG version',
  locale: 'Language of the reports',
  pictures: 'Pictures of elements',
  advice: 'Best practices',
  states: 'States of pages',
  parallelism: 'Pods',
} as const satisfies Partial<Record<OptionName, string>>;
export const HTTP_OPTIONS = [...(Object.keys(OPTION_LABELS) as (keyof typeof OPTION_LABELS)[]), 'httpFallback'] as const;

/**
 * The crawl rules that a submission over HTTP may set, with their labels in forms. Only the owner of a site may ignore
 * its robots.txt. A manifest is written by someone who runs the site; a request may come from anyone.
 */
export const CRAWL_LABELS = {
  include: 'Only pages that match',
  exclude: 'Not pages that match',
  hashRoutes: 'Fragments that are pages',
  hosts: 'Further hosts of the site',
  rewriteHost: 'Host that links of a preview name',
  urls: 'Only these pages',
  waitFor: 'Wait for an element',
  settleMs: 'Additional time for each page (ms)',
  consent: 'Dialog for consent to cookies',
  prepare: 'Steps before the pages',
} as const satisfies Partial<Record<keyof CrawlRules, string>>;
export const HTTP_CRAWL_RULES = Object.keys(CRAWL_LABELS) as (keyof typeof CRAWL_LABELS)[];

/** The most pods that a scan can use. The pages of a session are opened by one browser. */
export function podsWanted(given: GivenOptions & { auth?: unknown }): number {
  if ((given.parallelism ?? 1) === 1 || given.auth !== undefined) return 1;
  const { parallelism = 1, maxPages, crawl } = withDefaults(given);
  return crawl.consent !== 'keep' || crawl.prepare.length > 0 ? 1 : Math.min(parallelism, maxPages);
}

/**
 * Fills in the defaults, and limits the pages to the list of addresses, so that no more credits are reserved. Reads only options, so
 * `given` may be the whole spec of a custom resource.
 */
export function withDefaults(given: GivenOptions): ScanOptions {
  const names = Object.keys(ScanOptions.properties) as OptionName[];
  const stated = Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
  const options = Value.Default(ScanOptions, structuredClone({ thresholds: {}, ...stated })) as ScanOptions;
  const listed = listedUrls(options.crawl, options.url).length;
  return listed === 0 ? options : { ...options, maxPages: Math.min(given.maxPages ?? listed, listed) };
}
