/** The JSON export, `schema_version` 1 (decisions, "The JSON export"): the complete results of a scan. Keys are snake_case, as in the API. */
import { type Static, Type } from 'typebox';
import { BASELINE_COUNTS, BASELINE_PROBLEMS, CheckOutcome } from '../../core/scan/baseline.ts';
import { nullable, oneOf } from '../../core/schemas.ts';
import { Metadata } from '../../core/scan/metadata-schema.ts';
import { KNOWN_ISSUE_FIELDS, KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { CONSENT_CHOICES, WCAG_LEVELS } from '../../core/scan/options.ts';
import { STATE_KINDS } from '../../core/scan/states.ts';
import { ReportOptions, ReportThresholds } from '../../core/scan/submitted-options.ts';
import { ENGINES } from './engines.ts';
import { closed, Count, Fingerprint, LINKED_FROM_MAX, ReportPage, RulePositions } from './page.ts';
import { CauseChange, RootCause } from './root-cause.ts';

export const ReportCounts = Type.Object({ total: Count, critical: Count, serious: Count, moderate: Count, minor: Count }, closed);

/** The maximum length of a product's name, in characters. */
export const PRODUCT_MAX = 100;

/**
 * - `answered`
 * - `shown_again`: it was answered, but shows again when the page is loaded again
 * - `not_found`: no dialog was recognised
 * - `failed`: the dialog did not react
 */
const OUTCOMES = ['answered', 'shown_again', 'not_found', 'failed'] as const;

export const ReportConsent = Type.Object(
  {
    action: oneOf(CONSENT_CHOICES.slice(1) as ['reject', 'accept']),
    outcome: oneOf(OUTCOMES),
    /** The consent product, by the name of its rule in autoconsent. Null if no dialog was recognised. */
    product: nullable(Type.String({ maxLength: PRODUCT_MAX })),
    /** The page that was searched for the dialog. */
    url: Type.String(),
  },
  { additionalProperties: false },
);
export type ReportConsent = Static<typeof ReportConsent>;

/** The maximum size of a picture, in bytes and in pixels of a side. */
export const PICTURE_MAX_BYTES = 40 * 1024;
export const PICTURE_MAX_PIXELS = 1200;

/** On how many tested pages a rule or criterion failed, needs review, passed, and did not apply: on each page the first of these. */
export const OutcomePages = Type.Object({ failed: Count, needs_review: Count, passed: Count, not_applicable: Count }, closed);
export type OutcomePages = Static<typeof OutcomePages>;

/** A success criterion of the conformance target, and the rules that test a part of it. */
export const ReportCriterion = Type.Object(
  {
    /** Such as `1.4.3`. */
    id: Type.String(),
    level: oneOf(WCAG_LEVELS),
    /** In the language of the scan. */
    name: Type.String(),
    /** If it is empty, no rule tests the criterion. */
    rules: RulePositions,
    pages: OutcomePages,
  },
  closed,
);
export type ReportCriterion = Static<typeof ReportCriterion>;

/** More than axe-core and all additions have. The time to derive the rules again grows with their number. */
const RULES_MAX = 500;

/** The standards that a rule belongs to, and what it found. */
export const ReportRule = Type.Object(
  {
    id: Type.String(),
    engine: oneOf(ENGINES),
    tags: Type.Array(Type.String()),
    wcag: Type.Array(Type.String()),
    /** Clauses of EN 301 549, such as `9.1.1.1`. */
    en_301_549: Type.Array(Type.String()),
    /** Tests of RGAA 4, such as `1.1.2`. */
    rgaa_4: Type.Array(Type.String()),
    /** Tests of Trusted Tester 5, the test process of the revised Section 508, such as `6.A`. */
    trusted_tester_5: Type.Array(Type.String()),
    /** IDs of W3C ACT rules. */
    act_rules: Type.Array(Type.String()),
    pages: OutcomePages,
  },
  closed,
);
export type ReportRule = Static<typeof ReportRule>;

/** A picture of a whole page, a JPEG. The pictures of a scan are one object, one after the other. */
export const PagePicture = Type.Object(
  {
    /** The first byte in the object. */
    offset: Count,
    bytes: Type.Integer({ minimum: 1, maximum: PICTURE_MAX_BYTES }),
    /** In pixels. */
    width: Type.Integer({ minimum: 1, maximum: PICTURE_MAX_PIXELS }),
    height: Type.Integer({ minimum: 1, maximum: PICTURE_MAX_PIXELS }),
    /** The page that it shows. */
    page_url: Type.String(),
  },
  closed,
);
export type PagePicture = Static<typeof PagePicture>;

/** A picture of an element of a root cause. */
export const ReportPicture = Type.Object({ fingerprint: Fingerprint, ...PagePicture.properties }, closed);
export type ReportPicture = Static<typeof ReportPicture>;

/** The largest number of root causes that each list of a baseline has. The totals are in its numbers. */
export const BASELINE_CAUSES_MAX = 200;

/** The comparison with the baseline. Numbers are violations: failing elements of one rule on one page. */
export const ReportBaseline = Type.Object(
  {
    /** Null if no done scan matches. */
    scan_id: nullable(Type.String()),
    /** Why the scan was not judged by the baseline; null if it was. With `scans_differ` there are numbers all the same. */
    problem: nullable(oneOf(BASELINE_PROBLEMS)),
    /** Whether `max_new_violations` counts as met while there is a problem. */
    optional: Type.Boolean(),
    /** With `causes`, elements of root causes that the baseline has too are unchanged, and not new. Absent: `elements`. */
    count: Type.Optional(oneOf(BASELINE_COUNTS)),
    /** On pages that the baseline tested too, or of root causes that it does not have anywhere. Null if the scans were not compared. */
    new: nullable(Count),
    /** How many of the new ones are known issues, which thresholds do not count. Only if the site has known issues. */
    new_known: Type.Optional(Count),
    /** Of root causes that the baseline has too, on pages that it did not test. They do not count as new. */
    on_new_pages: nullable(Count),
    /** In states that the baseline did not count. They do not count as new. Only if there are some. */
    on_new_states: Type.Optional(Type.Integer({ minimum: 1 })),
    fixed: nullable(Count),
    unchanged: nullable(Count),
    /** Violations of the baseline on pages that this scan did not test, so that it is unknown whether they are fixed. */
    not_tested: nullable(Count),
    /** What differs between the scans, other than the site. */
    caveats: Type.Array(Type.Object({ reason: Type.String(), message: Type.String() }, closed)),
    /** The root causes of violations that only this scan has, worst first; and of those that only the baseline has. */
    new_causes: Type.Array(CauseChange, { maxItems: BASELINE_CAUSES_MAX }),
    fixed_causes: Type.Array(CauseChange, { maxItems: BASELINE_CAUSES_MAX }),
    /** Only of a check, which looks at one page again: the root cause that it is about, if it is about one; and what it found. */
    check: Type.Optional(Type.Object({ cause: Type.Optional(Fingerprint) }, closed)),
    checked: Type.Optional(Type.Object(CheckOutcome.properties, closed)),
  },
  closed,
);
export type ReportBaseline = Static<typeof ReportBaseline>;

/** A known issue of the site, and what it matched. */
export const ReportKnownIssue = Type.Object(
  {
    id: Type.String(),
    ...KNOWN_ISSUE_FIELDS,
    expires_at: Type.String(),
    /** How many elements it matched. With 0 it may be out of date. */
    elements: Count,
    /** Whether it ends within 30 days of the scan. */
    ending: Type.Boolean(),
  },
  closed,
);
export type ReportKnownIssue = Static<typeof ReportKnownIssue>;

/** The known issues of the site, and decisions. Accepted ones are in `score` and `counts`, and thresholds are judged without them. */
export const ReportKnownIssues = Type.Object(
  {
    score_without_known: Type.Number({ minimum: 0, maximum: 100 }),
    /** The score without what a person has confirmed as a fault. Only if there are decisions. */
    score_without_decisions: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
    violations_new_or_open: ReportCounts,
    /** The numbers of known issues that matched an element, that matched none (0 in a partial report), and that end within 30 days. */
    matched: Count,
    unmatched: Count,
    ending: Count,
    issues: Type.Array(ReportKnownIssue, { maxItems: KNOWN_ISSUES_MAX }),
    /** How many others there was no room for. They count as violations. */
    left_out: Count,
  },
  closed,
);
export type ReportKnownIssues = Static<typeof ReportKnownIssues>;

/** The number of other hosts that a report names. */
export const OTHER_HOSTS_MAX = 20;
/** The longest name of a host with its port, in characters. */
export const HOST_MAX = 260;

const OtherHost = Type.Object({ host: Type.String({ maxLength: HOST_MAX }), links: Count, sitemap_entries: Count }, closed);
export type OtherHost = Static<typeof OtherHost>;

/** The most documents that a report lists. */
export const DOCUMENTS_MAX = 100;

/** A document of the site, which is no page and is not tested. */
export const LinkedDocument = Type.Object(
  {
    url: Type.String(),
    /** The extension of its address in lower case, such as `pdf`. */
    type: Type.String({ maxLength: 8 }),
    /** The first pages that link to it, or the sitemap that lists it. */
    linked_from: Type.Array(Type.String(), { maxItems: LINKED_FROM_MAX }),
  },
  closed,
);
export type LinkedDocument = Static<typeof LinkedDocument>;

/** What links and sitemaps of the tested pages name. Each address is counted once, up to 100,000. */
export const ReportDiscovery = Type.Object(
  {
    /** The addresses of pages to which links lead, except links to the page that they are on. */
    links: Count,
    /** The addresses that end like a file, or that links call a download. They are not requested. */
    files: Count,
    /** Links to fragments that name no element of their page, as applications use them for views. */
    hash_links: Count,
    /** Hosts that are not part of the scan, those with the most addresses first. */
    other_hosts: Type.Array(OtherHost, { maxItems: OTHER_HOSTS_MAX }),
    /** The addresses of further hosts. */
    other_hosts_left: Count,
    /** Sitemaps of which only the beginning was read, because it lists more pages than the scan may test. */
    sitemaps_cut: Count,
    /** Only if there are some: further hosts of the scan (`crawl.hosts`) of which no link and no sitemap names a page. */
    hosts_unnamed: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
    /** Only if there are some: documents of the site that links and sitemaps name, and their number, up to 10,000. */
    documents: Type.Optional(Type.Array(LinkedDocument, { minItems: 1, maxItems: DOCUMENTS_MAX })),
    documents_total: Type.Optional(Count),
  },
  closed,
);
export type ReportDiscovery = Static<typeof ReportDiscovery>;

/** The states in which pages were tested. The coverage of states is no part of the score. */
export const ReportStates = Type.Object(
  {
    /** Findings in states of different versions cannot be compared. */
    version: Type.Integer(),
    /** Whether violations in states are in the score, the counts and the verdict. If not, they need review. */
    counted: Type.Boolean(),
    /** The numbers of tested pages by what came of the state. */
    kinds: Type.Array(Type.Object({ kind: oneOf(STATE_KINDS), tested: Count, nothing: Count, skipped: Count }, closed)),
  },
  closed,
);
export type ReportStates = Static<typeof ReportStates>;

export const Report = Type.Object(
  {
    schema_version: Type.Literal(1),
    scan: Type.Object(
      {
        id: Type.String(),
        url: Type.String(),
        /** Only of a scan with `--local`, which no service knows. */
        local: Type.Optional(Type.Literal(true)),
        options: ReportOptions,
        thresholds: ReportThresholds,
        metadata: Metadata,
        verdict: Type.Object({ passed: nullable(Type.Boolean()), message: nullable(Type.String()) }, closed),
        submitted_at: Type.String(),
        started_at: Type.String(),
        finished_at: Type.String(),
      },
      closed,
    ),
    tools: Type.Object({ curbcut: Type.String(), axe_core: Type.String(), browser: Type.String() }, closed),
    score: Type.Object(
      {
        value: Type.Number({ minimum: 0, maximum: 100 }),
        score_version: Type.Integer(),
        pages_tested: Type.Integer({ minimum: 1 }),
        /** Tested pages, and pages that were tried and could not be tested. The coverage is computed from them. */
        pages_attempted: Type.Integer({ minimum: 1 }),
        /** All pages in `pages`. */
        pages_found: Type.Integer({ minimum: 1 }),
        /** Elements that a person must check. They do not affect the score. */
        needs_review: Count,
      },
      closed,
    ),
    counts: ReportCounts,
    /** Only of a canceled scan: the report has the pages that were tested until then. It never passes. */
    partial: Type.Optional(Type.Literal(true)),
    /** Only if the scan has a baseline. */
    baseline: Type.Optional(ReportBaseline),
    /** Only if the site has known issues. */
    known_issues: Type.Optional(ReportKnownIssues),
    /** Only if the scan was to answer a dialog. */
    consent: Type.Optional(ReportConsent),
    /** Absent if the scan tests no state, or an earlier version made it. */
    states: Type.Optional(ReportStates),
    pages: Type.Array(ReportPage),
    /** The rule by which violations are grouped. Fingerprints of different versions cannot be compared. */
    fingerprint_version: Type.Integer(),
    groups: Type.Array(RootCause),
    /** Root causes of elements that a person must check, in the same order. */
    review_groups: Type.Array(RootCause),
    /** Root causes of the advice, in the same order. */
    advice_groups: Type.Array(RootCause),
    /** The rules that ran on tested pages, by ID. */
    rules: Type.Array(ReportRule, { maxItems: RULES_MAX }),
    /** All success criteria of the conformance target, in the order of WCAG. */
    criteria: Type.Array(ReportCriterion),
    pictures: Type.Array(ReportPicture),
    /** Only if there are some. They are behind `pictures` in the object. */
    page_pictures: Type.Optional(Type.Array(PagePicture, { minItems: 1 })),
    /** Only if there was no time for some: how many pictures of root causes and pages are missing for this reason. */
    pictures_left: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The number of addresses that were found and are not in `pages`: enough pages were tested, the time was up, too many are excluded, or they are too long. */
    addresses_left: Count,
    discovery: ReportDiscovery,
  },
  closed,
);
export type Report = Static<typeof Report>;
