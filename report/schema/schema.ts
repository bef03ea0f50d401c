/** The JSON export, `schema_version` 1 (decisions, "The JSON export"): the complete results of a scan. Keys are snake_case, as in the API. */
import { type Static, Type } from 'typebox';
import { BASELINE_PROBLEMS } from '../../core/scan/baseline.ts';
import { nullable, oneOf } from '../../core/schemas.ts';
import { Metadata } from '../../core/scan/metadata-schema.ts';
import { KNOWN_ISSUE_FIELDS, KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { CONSENT_CHOICES, WCAG_LEVELS } from '../../core/scan/options.ts';
import { ReportOptions, ReportThresholds } from '../../core/scan/submitted-options.ts';
import { ENGINES } from './engines.ts';

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

/** The landmarks of a page: its areas by purpose, as assistive technologies list them. */

export const LANDMARKS = ['banner', 'navigation', 'main', 'complementary', 'contentinfo', 'search'] as const;
export type Landmark = (typeof LANDMARKS)[number];

/** The elements that are landmarks without a role. */
export const LANDMARK_ELEMENTS: Readonly<Record<string, Landmark>> = {
  header: 'banner',
  nav: 'navigation',
  main: 'main',
  aside: 'complementary',
  footer: 'contentinfo',
  search: 'search',
};

/** The maximum length of a node's HTML, in characters. */
export const NODE_HTML_MAX = 2000;
/** The maximum length of a selector within one document or shadow root, in characters. */
export const SELECTOR_MAX = 2000;
/** The maximum length of a node's failure summary, in characters. */
export const FAILURE_SUMMARY_MAX = 4000;
/** The maximum number of related elements of a node. */
export const RELATED_MAX = 5;
/** The largest distance from the top left of a page, in CSS pixels. */
export const POSITION_MAX = 10_000_000;
/** The maximum number of pages that an untested page names as linking to it. */
export const LINKED_FROM_MAX = 3;

/** The maximum size of a picture, in bytes and in pixels of a side. */
export const PICTURE_MAX_BYTES = 40 * 1024;
export const PICTURE_MAX_PIXELS = 1200;

/** The largest number of known issues that a root cause lists. */
export const KNOWN_MARKS_MAX = 10;

const closed = { additionalProperties: false } as const;
const Impact = oneOf(IMPACTS);
const Fingerprint = Type.String({ pattern: '^[0-9a-f]{16}$' });
const Count = Type.Integer({ minimum: 0 });
const Selector = Type.String({ maxLength: SELECTOR_MAX });

export const ReportCounts = Type.Object({ total: Count, critical: Count, serious: Count, moderate: Count, minor: Count }, closed);

/** The colours of a contrast violation. */
export const Contrast = Type.Object(
  {
    /** `#rrggbb` */
    foreground: Type.String({ maxLength: 9 }),
    background: Type.String({ maxLength: 9 }),
    ratio: Type.Number({ minimum: 0 }),
    /** The ratio that the rule requires for the size of the text. */
    required: Type.Number({ minimum: 0 }),
    /** The size of the text in CSS pixels. */
    font_size_px: Type.Optional(Type.Number({ minimum: 0 })),
    bold: Type.Optional(Type.Boolean()),
  },
  closed,
);

/** Another element that explains a finding, such as the element that paints the background of a text. */
export const RelatedNode = Type.Object(
  {
    /** A CSS selector. Those of the frames and shadow hosts that contain the element precede it, separated by ` >>> `. */
    selector: Selector,
    /** The start tag, or the whole HTML if the element has findings of its own. */
    html: Type.String({ maxLength: NODE_HTML_MAX }),
  },
  closed,
);

const Position = Type.Integer({ minimum: -POSITION_MAX, maximum: POSITION_MAX });
const Length = Type.Integer({ minimum: 1, maximum: POSITION_MAX });

/** The size of a page's document, in CSS pixels. */
export const PageSize = Type.Object({ width: Length, height: Length }, closed);
export type PageSize = Static<typeof PageSize>;

/** Where an element is, in CSS pixels from the top left of the page's document. It may be outside of the page. */
export const Box = Type.Object({ x: Position, y: Position, width: Length, height: Length }, closed);
export type Box = Static<typeof Box>;

/** An element that fails a rule, or needs review. */
export const ReportNode = Type.Object(
  {
    /** A CSS selector within its document or shadow root. If it would be too long, the end of the path of the element's ancestors. */
    selector: Selector,
    /**
     * The element's own HTML. Attribute values of more than 500 characters are shortened and end with a hash; so are texts
     * inside an element that would otherwise be too long. The content of even longer elements is replaced by `…`.
     */
    html: Type.String({ maxLength: NODE_HTML_MAX }),
    /** The innermost landmark that contains the element, or is it, within its document. */
    landmark: nullable(oneOf(LANDMARKS)),
    /** Null: it has no box, or the frame around it does not show it. It describes a moment, so two scans of the same page may differ. */
    box: nullable(Box),
    /** Only for contrast rules. */
    contrast: Type.Optional(Contrast),
    /** The checks of the rule that failed or need review, by axe-core's names. */
    checks: Type.Optional(Type.Array(Type.String(), { maxItems: 50 })),
    related: Type.Optional(Type.Array(RelatedNode, { maxItems: RELATED_MAX })),
    failure_summary: Type.String({ maxLength: FAILURE_SUMMARY_MAX }),
    /** Selectors of the frames that contain the element, outermost first; empty for the page itself. */
    frame_path: Type.Array(Selector),
    /** Selectors of the shadow hosts that contain the element, outermost first. */
    shadow_path: Type.Array(Selector),
  },
  closed,
);
export type ReportNode = Static<typeof ReportNode>;

/** One rule that failed on one page, with its failing elements. */
export const ReportViolation = Type.Object(
  {
    rule: Type.String(),
    impact: Impact,
    wcag: Type.Array(Type.String()),
    help: Type.String(),
    description: Type.String(),
    help_url: Type.String(),
    nodes: Type.Array(ReportNode),
    /** The number of failing elements. `nodes` is capped on pages with very many. */
    nodes_total: Type.Integer({ minimum: 1 }),
    /** The numbers of elements that are not in `nodes`, by root cause. Each has an example in `nodes`. */
    nodes_beyond: Type.Optional(Type.Array(Type.Object({ fingerprint: Fingerprint, elements: Type.Integer({ minimum: 1 }) }, closed))),
  },
  closed,
);
export type ReportViolation = Static<typeof ReportViolation>;

/** Why a page was found but not tested. `coverage.ts` says which of them count as attempted. */
export const PAGE_FAILURES = [
  'navigation_failed',
  'timeout',
  'http_error',
  'not_html',
  'not_rendered',
  'crashed',
  'refused',
  'redirected_away',
  'redirected_to_gate',
  'robots_disallowed',
  'sign_in_page',
  'bot_wall',
  'download',
  'test_failed',
  'rate_limited',
  'sign_in_lost',
  'excluded',
  'same_as',
] as const;
export type PageFailureReason = (typeof PAGE_FAILURES)[number];

/** Why a frame of a tested page was not tested. */
export const FRAME_FAILURES = [
  'not_loaded',
  'timeout',
  'refused',
  'removed',
  'not_html',
  'unsupported',
  'too_many',
  'test_failed',
] as const;
export type FrameFailureReason = (typeof FRAME_FAILURES)[number];

/** A frame of a tested page that was not tested. Its content may have violations. */
export const UntestedFrame = Type.Object(
  {
    /** Selectors of the frames, outermost first; the last one is the frame itself. */
    path: Type.Array(Type.String(), { minItems: 1 }),
    url: Type.String(),
    reason: oneOf(FRAME_FAILURES),
    message: Type.String(),
  },
  closed,
);
export type UntestedFrame = Static<typeof UntestedFrame>;

/** What may have been missed on a tested page, or is not described. */
export const PAGE_CAVEATS = [
  'content_blocked',
  'script_failed',
  'style_failed',
  'data_failed',
  'request_refused',
  'requests_unanswered',
  'still_loading',
  'still_busy',
  'not_quiet',
  'wait_skipped',
  'not_scrolled',
  'view_only',
  'closed_shadow_root',
  'redirect_blocked',
  'wait_for_missing',
  'rules_failed',
  'frames_limited',
  'causes_left_out',
  'dialog_untested',
] as const;
export type PageCaveatKind = (typeof PAGE_CAVEATS)[number];

export const PageCaveat = Type.Object({ kind: oneOf(PAGE_CAVEATS), message: Type.String() }, closed);
export type PageCaveat = Static<typeof PageCaveat>;

/** Positions in the report's `rules`, ascending. */
const RulePositions = Type.Array(Count);

const Tally = Type.Object({ passed: Count, failed: Count }, closed);

/** A page that was loaded and tested. */
export const TestedPage = Type.Object(
  {
    url: Type.String(),
    final_url: Type.String(),
    http_status: Type.Integer(),
    title: Type.String(),
    language: nullable(Type.String()),
    size: PageSize,
    tested: Type.Literal(true),
    score: Type.Number({ minimum: 0, maximum: 100 }),
    /** Rules that applied, by impact. The score is computed from them. */
    rules: Type.Object({ critical: Tally, serious: Tally, moderate: Tally, minor: Tally }, closed),
    duration_ms: Count,
    violations: Type.Array(ReportViolation),
    needs_review: Type.Array(ReportViolation),
    /** Elements that fail a rule that the conformance target does not require. They affect no number. */
    advice: Type.Array(ReportViolation),
    /** Rules without a finding on the page: those that at least one element passed. */
    rules_passed: RulePositions,
    /** The same for rules that no element was tested by. */
    rules_not_applicable: RulePositions,
    frames_untested: Type.Array(UntestedFrame),
    caveats: Type.Array(PageCaveat),
  },
  closed,
);
export type TestedPage = Static<typeof TestedPage>;

/** A page that was not tested. It is not charged and does not affect the score. */
export const UntestedPage = Type.Object(
  {
    url: Type.String(),
    final_url: nullable(Type.String()),
    http_status: nullable(Type.Integer()),
    tested: Type.Literal(false),
    reason: oneOf(PAGE_FAILURES),
    /** For `same_as`: the `url` of the page whose test covers this one. */
    same_as: Type.Optional(Type.String()),
    /** The first pages that link to it, in the scan's order, or the sitemap that lists it. Absent if neither does. */
    linked_from: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: LINKED_FROM_MAX })),
    message: Type.String(),
    duration_ms: Count,
  },
  closed,
);
export type UntestedPage = Static<typeof UntestedPage>;

export const ReportPage = Type.Union([TestedPage, UntestedPage]);
export type ReportPage = Static<typeof ReportPage>;

/** A known issue that covers elements of a root cause. */
export const KnownMark = Type.Object(
  { id: Type.String(), reason: Type.String(), owner: Type.String(), expires_at: Type.String(), elements: Type.Integer({ minimum: 1 }) },
  closed,
);
export type KnownMark = Static<typeof KnownMark>;

/** One root cause over all pages: the same rule on the same component in the same landmark. */
export const RootCause = Type.Object(
  {
    /** The same in every scan with the same `fingerprint_version`. */
    fingerprint: Fingerprint,
    rule: Type.String(),
    impact: Impact,
    wcag: Type.Array(Type.String()),
    help: Type.String(),
    help_url: Type.String(),
    /** The numbers of affected pages and elements. */
    pages: Type.Integer({ minimum: 1 }),
    elements: Type.Integer({ minimum: 1 }),
    example: ReportNode,
    /** Pages on which it occurs, in the scan's order, at most 100. */
    page_urls: Type.Array(Type.String(), { maxItems: 100 }),
    /** How many of the elements the baseline does not have. Only if the scan was compared with one. */
    new_elements: Type.Optional(Count),
    /** How many of the elements are known issues, and which ones: at most 10, most elements first. Only if some are. */
    known_elements: Type.Optional(Type.Integer({ minimum: 1 })),
    known: Type.Optional(Type.Array(KnownMark, { minItems: 1, maxItems: KNOWN_MARKS_MAX })),
  },
  closed,
);
export type RootCause = Static<typeof RootCause>;

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

const { fingerprint, rule, impact, wcag, help, help_url } = RootCause.properties;

/** Violations of one root cause that only one of two scans has. */
export const CauseChange = Type.Object(
  {
    ...{ fingerprint, rule, impact, wcag, help, help_url },
    /** The numbers of changed elements, and of the pages that they are on. */
    elements: Count,
    pages: Count,
    /** Whether the other scan has the same root cause on other elements. */
    in_both: Type.Boolean(),
    /** How many of the elements are on pages that the first scan did not test. 0 for what only the first scan has. */
    on_new_pages: Count,
    /** How many of the elements that count as new are known issues. Only if some are. */
    known_elements: Type.Optional(Type.Integer({ minimum: 1 })),
    examples: Type.Array(
      Type.Object(
        { page: Type.String(), selector: Type.String(), frame_path: Type.Array(Type.String()), shadow_path: Type.Array(Type.String()) },
        closed,
      ),
    ),
  },
  closed,
);
export type CauseChange = Static<typeof CauseChange>;

/** The comparison with the baseline. Numbers are violations: failing elements of one rule on one page. */
export const ReportBaseline = Type.Object(
  {
    /** Null if no done scan matches. */
    scan_id: nullable(Type.String()),
    /** Why the scan was not judged by the baseline; null if it was. With `scans_differ` there are numbers all the same. */
    problem: nullable(oneOf(BASELINE_PROBLEMS)),
    /** Whether `max_new_violations` counts as met while there is a problem. */
    optional: Type.Boolean(),
    /** On pages that the baseline tested too, or of root causes that it does not have anywhere. Null if the scans were not compared. */
    new: nullable(Count),
    /** How many of the new ones are known issues, which thresholds do not count. Only if the site has known issues. */
    new_known: Type.Optional(Count),
    /** Of root causes that the baseline has too, on pages that it did not test. They do not count as new. */
    on_new_pages: nullable(Count),
    fixed: nullable(Count),
    unchanged: nullable(Count),
    /** Violations of the baseline on pages that this scan did not test, so that it is unknown whether they are fixed. */
    not_tested: nullable(Count),
    /** What differs between the scans, other than the site. */
    caveats: Type.Array(Type.Object({ reason: Type.String(), message: Type.String() }, closed)),
    /** The root causes of violations that only this scan has, worst first; and of those that only the baseline has. */
    new_causes: Type.Array(CauseChange, { maxItems: BASELINE_CAUSES_MAX }),
    fixed_causes: Type.Array(CauseChange, { maxItems: BASELINE_CAUSES_MAX }),
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
    /** How many violations it matched. With 0 it may be out of date. */
    elements: Count,
    /** Whether it ends within 30 days of the scan. */
    ending: Type.Boolean(),
  },
  closed,
);
export type ReportKnownIssue = Static<typeof ReportKnownIssue>;

/** The known issues of the site. They are in `score` and `counts`, and thresholds are judged without them. */
export const ReportKnownIssues = Type.Object(
  {
    score_without_known: Type.Number({ minimum: 0, maximum: 100 }),
    violations_new_or_open: ReportCounts,
    /** The numbers of known issues that matched a violation, that matched none (0 in a partial report), and that end within 30 days. */
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
    pages: Type.Array(ReportPage),
    /** The rule by which violations are grouped. Fingerprints of different versions cannot be compared. */
    fingerprint_version: Type.Integer(),
    groups: Type.Array(RootCause),
    /** Root causes of elements that a person must check, in the same order. */
    review_groups: Type.Array(RootCause),
    /** Root causes of the advice, in the same order. */
    advice_groups: Type.Array(RootCause),
    /** The rules that ran on tested pages, by ID. */
    rules: Type.Array(ReportRule),
    /** All success criteria of the conformance target, in the order of WCAG. */
    criteria: Type.Array(ReportCriterion),
    pictures: Type.Array(ReportPicture),
    /** Only if there are some. They are behind `pictures` in the object. */
    page_pictures: Type.Optional(Type.Array(PagePicture, { minItems: 1 })),
    /** The number of addresses that were found and are not in `pages`: enough pages were tested, the time was up, too many are excluded, or they are too long. */
    addresses_left: Count,
  },
  closed,
);
export type Report = Static<typeof Report>;
