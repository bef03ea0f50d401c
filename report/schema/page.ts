/** The pages of an export: what was found on the tested ones, and why the others were not tested. */
import { type Static, Type } from 'typebox';
import { nullable, oneOf } from '../../core/schemas.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { STATE_KINDS } from '../../core/scan/states.ts';

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

export const closed = { additionalProperties: false } as const;
export const Impact = oneOf(IMPACTS);
export const Fingerprint = Type.String({ pattern: '^[0-9a-f]{16}$' });
export const Count = Type.Integer({ minimum: 0 });
const Selector = Type.String({ maxLength: SELECTOR_MAX });

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

const text = Type.Optional(Type.String());
/** A state of the page in which something was found that is not found at rest. */
export const FoundInState = Type.Object(
  {
    kind: oneOf(STATE_KINDS),
    /** In the language of the scan. */
    label: Type.String(),
    /** What leads there, from the page at rest. */
    steps: Type.Array(
      Type.Object(
        {
          color_scheme: text,
          viewport: text,
          text_spacing: text,
          click: text,
          press: text,
          times: Type.Optional(Type.Integer({ minimum: 1 })),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type FoundInState = Static<typeof FoundInState>;

/** What came of a state of a page. */
export const STATE_RESULTS = ['tested', 'nothing', 'skipped'] as const;
export type StateResult = (typeof STATE_RESULTS)[number];
/**
 * Why a state was skipped: enough pages of the template were tested in states; the page is too large; the time was over; the page failed.
 * `connected`: it keeps a connection open or has a worker, so that its tab cannot be sealed.
 * `frames`: only the page itself was tested in it, not its frames.
 */
export const STATE_SKIPS = ['template', 'large', 'time', 'failed', 'connected', 'frames'] as const;
export type StateSkip = (typeof STATE_SKIPS)[number];

/**
 * Why a control of a page was not opened: it may do more than that; there are too many; no key showed anything; the time was over.
 * `same`: the same was opened on an earlier page of the template. `stuck`: a dialog did not close.
 */
export const UNOPENED_REASONS = ['acts', 'limit', 'same', 'nothing', 'time', 'stuck'] as const;
export type UnopenedReason = (typeof UNOPENED_REASONS)[number];

/** A state of a page. `nothing`: the page has nothing to test in it. */
export const PageState = Type.Object(
  {
    kind: oneOf(STATE_KINDS),
    result: oneOf(STATE_RESULTS),
    reason: Type.Optional(oneOf(STATE_SKIPS)),
    /** The number of controls that were left because of a limit. Only if there are some. */
    left: Type.Optional(Type.Integer({ minimum: 1 })),
    /** Of `opened`: how many controls were opened, and how many were not, by reason. */
    opened: Type.Optional(Type.Integer({ minimum: 1 })),
    unopened: Type.Optional(Type.Array(Type.Object({ reason: oneOf(UNOPENED_REASONS), count: Type.Integer({ minimum: 1 }) }, closed))),
  },
  closed,
);
export type PageState = Static<typeof PageState>;

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
    /** A person has confirmed it as a fault: the rule could not decide. */
    confirmed: Type.Optional(Type.Literal(true)),
    /** Selectors of the frames that contain the element, outermost first; empty for the page itself. */
    frame_path: Type.Array(Selector),
    /** Selectors of the shadow hosts that contain the element, outermost first. */
    shadow_path: Type.Array(Selector),
    /** Only if it was not found at rest. */
    state: Type.Optional(FoundInState),
    /** The states in which the same was found as at rest. */
    also_in: Type.Optional(Type.Array(oneOf(STATE_KINDS), { minItems: 1 })),
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
    nodes_beyond: Type.Optional(
      Type.Array(
        Type.Object(
          { fingerprint: Fingerprint, elements: Type.Integer({ minimum: 1 }), confirmed: Type.Optional(Type.Literal(true)) },
          closed,
        ),
      ),
    ),
    /** Of what needs review: whether the rule counts as passed, because other elements passed. */
    passed: Type.Optional(Type.Literal(true)),
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
  'document',
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
export const RulePositions = Type.Array(Count);

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
    /** Elements that needed review and that a person has found fine. They affect no number. */
    reviewed: Type.Optional(Type.Array(ReportViolation, { minItems: 1 })),
    /** Elements that fail a rule that the conformance target does not require. They affect no number. */
    advice: Type.Array(ReportViolation),
    /** Rules without a finding on the page: those that at least one element passed. */
    rules_passed: RulePositions,
    /** The same for rules that no element was tested by. */
    rules_not_applicable: RulePositions,
    frames_untested: Type.Array(UntestedFrame),
    caveats: Type.Array(PageCaveat),
    /** Absent if the scan tests no state, or an earlier version made it. */
    states: Type.Optional(Type.Array(PageState)),
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
    /** For `document`: the type that the site gave the file. Absent if it gave none, or the file was not requested. */
    media_type: Type.Optional(Type.String()),
    message: Type.String(),
    duration_ms: Count,
  },
  closed,
);
export type UntestedPage = Static<typeof UntestedPage>;

export const ReportPage = Type.Union([TestedPage, UntestedPage]);
export type ReportPage = Static<typeof ReportPage>;

export function testedPages(pages: readonly ReportPage[]): TestedPage[] {
  return pages.filter((page) => page.tested);
}

/** The lists of a page's findings. */
export const FINDING_LISTS = ['violations', 'needs_review', 'advice'] as const satisfies readonly (keyof TestedPage)[];
export type FindingList = (typeof FINDING_LISTS)[number];
/** The findings of a page, of all lists. */
export const findingsOf = (page: Pick<TestedPage, FindingList>): ReportViolation[] => FINDING_LISTS.flatMap((list) => page[list]);

/** Returns the path to an element: the selectors of frames and shadow hosts precede its own, separated by ` >>> `. */
export const elementPath = ({ frame_path, shadow_path, selector }: Pick<ReportNode, 'frame_path' | 'shadow_path' | 'selector'>): string =>
  [...frame_path, ...shadow_path, selector].join(' >>> ');
