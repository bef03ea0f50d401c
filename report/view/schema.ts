/**
 * The schema of a view: a bounded part of an export, for pages and mails. It has the fields and types of the export. Lists and
 * texts are cut at their end; `…_total` fields state the full numbers.
 */
import { Type, type Static } from 'typebox';
import { nullable } from '../../core/schemas.ts';
import type { ThresholdCheck } from '../../core/scan/thresholds.ts';
import { PAGE_CAVEATS, ReportNode, ReportViolation, TestedPage, UntestedPage } from '../schema/page.ts';
import { PagePicture, Report, ReportCriterion, ReportPicture } from '../schema/report.ts';
import { RootCause } from '../schema/root-cause.ts';

/** The maximum size of a view, in bytes of JSON. */
export const VIEW_MAX_BYTES = 2 * 1024 * 1024;

/** The maximum numbers of list entries. A page has each kind of caveat once. */
export const VIEW_LIMITS = {
  groups: 200,
  causes: 5_000,
  review_groups: 100,
  advice_groups: 50,
  pages: 500,
  issues: 1000,
  page_urls: 20,
  known: 3,
  frames_untested: 10,
  caveats: PAGE_CAVEATS.length,
} as const;

const Count = Type.Integer({ minimum: 0 });

/** Where a part of the object with the findings is; see `findings.ts`. */
export const FindingsPlace = Type.Object({ offset: Count, bytes: Count });
export type FindingsPlace = Static<typeof FindingsPlace>;

const {
  fingerprint,
  rule,
  impact,
  help,
  pages: causePages,
  elements,
  new_elements,
  known_elements,
  states,
  at_rest,
} = RootCause.properties;

/** A root cause in a line of a list. */
export const CauseLine = Type.Object({
  ...{ fingerprint, rule, impact, pages: causePages, elements, new_elements, known_elements, states, at_rest },
  /** The short name of its example. No two causes of a rule have the same. */
  element: Type.String(),
  /** The `RootCause`. Absent if the view lists it. */
  details: Type.Optional(FindingsPlace),
  /** The numbers of the pages that have it, from 1, of those that the view can list. Absent in views of earlier versions. */
  on_pages: Type.Optional(Type.Array(Count)),
});
export type CauseLine = Static<typeof CauseLine>;

const { url, title, tested, score, size, frames_untested, caveats, states: pageStates } = TestedPage.properties;

/** A page of the scan. */
const ViewPage = Type.Union([
  Type.Object({
    ...{ url, title, tested, score, size, frames_untested, caveats, states: pageStates },
    frames_total: Count,
    /** The violations of the page. */
    counts: Report.properties.counts,
    /** The `PageCauses` of the page. Absent if it has none. */
    findings: Type.Optional(FindingsPlace),
  }),
  UntestedPage,
]);
export type ViewPage = Static<typeof ViewPage>;

/** A failing element, as the public scan status returns it. */
export const ViewIssue = Type.Object({
  ...{ rule, impact, help, help_url: ReportViolation.properties.help_url, wcag: ReportViolation.properties.wcag },
  /** The selectors of frames and shadow hosts precede the element's own, separated by ` >>> `. */
  selector: Type.String(),
  html: ReportNode.properties.html,
});
export type ViewIssue = Static<typeof ViewIssue>;

const {
  scan,
  score: scanScore,
  counts,
  partial,
  consent,
  addresses_left,
  pictures_left,
  discovery,
  states: reportStates,
} = Report.properties;

export const ReportView = Type.Object({
  view_version: Type.Literal(1),
  scan: Type.Object({
    url: scan.properties.url,
    finished_at: scan.properties.finished_at,
    options: Type.Object({ locale: scan.properties.options.properties.locale }),
  }),
  score: scanScore,
  ...{ counts, partial, consent, addresses_left, pictures_left, discovery, states: reportStates },
  /** Root causes, worst first: those with new elements, then by impact, elements and pages. */
  groups: Type.Array(RootCause),
  groups_total: Count,
  review_groups: Type.Array(RootCause),
  review_groups_total: Count,
  advice_groups: Type.Array(RootCause),
  advice_groups_total: Count,
  /** The number of elements that the advice is about. */
  advice_elements: Count,
  /** Every root cause of violations that fits, in the order of `groups`. */
  causes: Type.Array(CauseLine),
  /** What the scanner says about the rules of all root causes, by rule, in the language of the scan. */
  cause_rules: Type.Record(Type.String(), Type.Object({ help, description: Type.String(), wcag: RootCause.properties.wcag })),
  /** The root causes whose fix removes the most violations, most first; and how many violations, also in percent of all. */
  leading: Type.Object({
    causes: Type.Array(Type.Object({ fingerprint, rule, elements })),
    removed: Count,
    percent: Type.Number(),
  }),
  /** Only if a threshold was missed: see `FixToPass`. Absent in views of earlier versions. */
  to_pass: Type.Optional(
    Type.Object({
      causes: Type.Array(Type.Object({ fingerprint, rule, impact, elements, pages: causePages })),
      needed: nullable(Count),
      left: Type.Array(Type.Unsafe<ThresholdCheck>({ type: 'object' })),
    }),
  ),
  /** In the order of the scan. */
  pages: Type.Array(ViewPage),
  pages_total: Count,
  /** Tested pages that were not tested completely. */
  pages_with_gaps: Count,
  pictures: Type.Array(ReportPicture),
  page_pictures: Type.Array(PagePicture),
  /** All success criteria of the conformance target, in the order of WCAG. Views of earlier versions have none. */
  criteria: Type.Optional(Type.Array(Type.Pick(ReportCriterion, ['id', 'level', 'pages']))),
  /** How many elements people have decided about. Only if there are decisions; absent in views of earlier versions. */
  decided: Type.Optional(Type.Object({ faults: Count, fine: Count })),
  /** Failing elements, worst first; only if the scan tested one page. */
  issues: Type.Array(ViewIssue),
  /** The number of violations of the scan, whether or not they are listed. */
  issues_total: Count,
});
export type ReportView = Static<typeof ReportView>;

/** What the scanner says about a rule. Only the ID if the view leaves the rule out. */
export const ruleOf = ({ cause_rules: rules }: Pick<ReportView, 'cause_rules'>, rule: string): ReportView['cause_rules'][string] =>
  (Object.hasOwn(rules, rule) ? rules[rule] : undefined) ?? { help: rule, description: '', wcag: [] };
