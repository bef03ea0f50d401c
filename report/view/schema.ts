/**
 * The schema of a view: a bounded part of an export, for pages and mails. Lists are cut at their end; `…_total` fields state
 * the full numbers.
 */
import { Type, type Static } from 'typebox';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { oneOf } from '../../core/schemas.ts';
import {
  KnownMark,
  PAGE_CAVEATS,
  PAGE_FAILURES,
  PageCaveat,
  ReportConsent,
  ReportCounts,
  ReportNode,
  ReportPicture,
  ReportRule,
  UntestedFrame,
} from '../schema/schema.ts';

/** The maximum size of a view, in bytes of JSON. */
export const VIEW_MAX_BYTES = 2 * 1024 * 1024;

/** The maximum numbers of list entries. A page has each kind of caveat once. */
export const VIEW_LIMITS = {
  groups: 200,
  causes: 5_000,
  needs_review: 100,
  advice: 50,
  pages: 500,
  issues: 1000,
  page_urls: 20,
  known: 3,
  frames: 10,
  caveats: PAGE_CAVEATS.length,
} as const;

const Impact = oneOf(IMPACTS);
const Count = Type.Integer({ minimum: 0 });

const { en_301_549, rgaa_4, trusted_tester_5, act_rules } = ReportRule.properties;
const { offset, bytes, width, height } = ReportPicture.properties;
const { url, reason, message } = UntestedFrame.properties;

/** A picture of an element: where it is in the object with the pictures of the scan, and its size in pixels. */
export const ViewPicture = Type.Object({
  ...{ offset, bytes, width, height },
  /** The number of the page that it shows, from 1. Absent if the view does not list the page, and in views of earlier versions. */
  page: Type.Optional(Count),
});
export type ViewPicture = Static<typeof ViewPicture>;

/** The root cause of violations, or of elements that need review. */
export const ViewGroup = Type.Object({
  fingerprint: Type.String(),
  rule: Type.String(),
  impact: Impact,
  wcag: Type.Array(Type.String()),
  /** In the language of the scan. `report/words/` has other languages. */
  help: Type.String(),
  description: Type.String(),
  help_url: Type.String(),
  /** The numbers of affected pages and elements. */
  pages: Count,
  elements: Count,
  /** The first pages on which it occurs. */
  page_urls: Type.Array(Type.String()),
  example: Type.Object(ReportNode.properties),
  /** The rule in other standards than WCAG. */
  standards: Type.Object({ en_301_549, rgaa_4, trusted_tester_5, act_rules }),
  picture: Type.Optional(ViewPicture),
  /** How many of the elements the baseline does not have. Only if the scan was compared with one. */
  new_elements: Type.Optional(Count),
  /** How many of the elements are known issues, and the first of them. Only if some are. */
  known_elements: Type.Optional(Count),
  known: Type.Optional(Type.Array(Type.Object(KnownMark.properties))),
});
export type ViewGroup = Static<typeof ViewGroup>;

/** Where a part of the object with the findings is; see `findings.ts`. */
export const FindingsPlace = Type.Object({ offset: Count, bytes: Count });
export type FindingsPlace = Static<typeof FindingsPlace>;

/** A root cause of violations, in a line. Its `ViewGroup` is in the object with the findings. */
const ViewCause = Type.Object({
  fingerprint: Type.String(),
  rule: Type.String(),
  impact: Impact,
  /** The short name of its example. No two causes of a rule have the same. */
  element: Type.String(),
  pages: Count,
  elements: Count,
  new_elements: Type.Optional(Count),
  known_elements: Type.Optional(Count),
  picture: Type.Optional(ViewPicture),
  group: FindingsPlace,
});
export type ViewCause = Static<typeof ViewCause>;

/** What may have been missed on a tested page. */
const ViewGaps = Type.Object({
  /** The first frames that were not tested. `path` is one text. */
  frames: Type.Array(Type.Object({ path: Type.String(), url, reason, message })),
  frames_total: Count,
  caveats: Type.Array(Type.Object(PageCaveat.properties)),
});
export type ViewGaps = Static<typeof ViewGaps>;

/** The root causes whose fix removes the most violations, most first. */
const ViewLeading = Type.Object({
  causes: Type.Array(Type.Object({ fingerprint: Type.String(), help: Type.String(), elements: Count })),
  /** The violations that disappear if all of them are fixed, also in percent of all. */
  removed: Count,
  percent: Type.Number(),
});

const ViewPage = Type.Union([
  Type.Object({
    url: Type.String(),
    title: Type.String(),
    tested: Type.Literal(true),
    score: Type.Number(),
    counts: ReportCounts,
    /** Absent if the page was tested completely. */
    gaps: Type.Optional(ViewGaps),
    /** The `PageCauses` of the page. Absent if it has none. */
    findings: Type.Optional(FindingsPlace),
    /** A picture of the page from its top, as wide as the page. */
    picture: Type.Optional(ViewPicture),
  }),
  Type.Object({
    url: Type.String(),
    tested: Type.Literal(false),
    reason: oneOf(PAGE_FAILURES),
    message: Type.String(),
    /** For `same_as`: the address of the page whose test covers this one. */
    same_as: Type.Optional(Type.String()),
    /** The first pages that link to it, or the sitemap that lists it. Absent if neither does. */
    linked_from: Type.Optional(Type.Array(Type.String())),
  }),
]);
/** A page of the scan. */
export type ViewPage = Static<typeof ViewPage>;

/** A failing element, as the public scan status returns it. */
export const ViewIssue = Type.Object({
  rule: Type.String(),
  impact: Impact,
  help: Type.String(),
  help_url: Type.String(),
  wcag: Type.Array(Type.String()),
  /** The selectors of frames and shadow hosts precede the element's own, separated by ` >>> `. */
  selector: Type.String(),
  html: Type.String(),
});
export type ViewIssue = Static<typeof ViewIssue>;

/** Objects are open, because a newer version may have added fields. */
export const ReportView = Type.Object({
  view_version: Type.Literal(1),
  url: Type.String(),
  locale: oneOf(LOCALES),
  /** When the scan finished, ISO 8601. */
  tested_at: Type.String(),
  score: Type.Number(),
  /** Violations of the whole scan. */
  counts: ReportCounts,
  /** As in the export. */
  partial: Type.Optional(Type.Literal(true)),
  /** As in the export. */
  consent: Type.Optional(Type.Object(ReportConsent.properties)),
  /** Root causes, worst first: by impact, then elements, then pages. */
  groups: Type.Array(ViewGroup),
  groups_total: Count,
  /** Every root cause that fits, in the order of `groups`. */
  causes: Type.Array(ViewCause),
  /** What the scanner says about the rules of `causes`, by rule. */
  cause_rules: Type.Record(Type.String(), Type.Object({ help: Type.String(), wcag: Type.Array(Type.String()) })),
  leading: ViewLeading,
  /** Root causes of elements that a person must check, worst first. They are not violations. */
  needs_review: Type.Array(ViewGroup),
  needs_review_total: Count,
  /** The number of elements that a person must check. */
  needs_review_elements: Count,
  /** Root causes of the advice, worst first. */
  advice: Type.Array(ViewGroup),
  advice_total: Count,
  /** The number of elements that the advice is about. */
  advice_elements: Count,
  /** In the order of the scan. */
  pages: Type.Array(ViewPage),
  pages_total: Count,
  /** Tested pages with `gaps`. */
  pages_with_gaps: Count,
  /** As in the export. */
  addresses_left: Count,
  /** Failing elements, worst first; only if the scan tested one page. */
  issues: Type.Array(ViewIssue),
  /** The number of violations of the scan, whether or not they are listed. */
  issues_total: Count,
});
export type ReportView = Static<typeof ReportView>;
