/** Selects the root causes that a page of the dashboard shows, and reads their details. */
import { Compile } from 'typebox/compile';
import { IMPACTS, type Impact } from '../../../core/scan/impacts.ts';
import { distinctNames } from '../../../report/causes/element-names.ts';
import { PageFindings } from '../../../report/view/findings.ts';
import { ViewGroup, type FindingsPlace, type ReportView } from '../../../report/view/schema.ts';
import type { CauseList, CauseQuery } from './query.ts';

/** Reads a part of the findings of the scan; null if it cannot be read. */
export type ReadFindings = (place: FindingsPlace) => Promise<unknown>;

/** A root cause in a line of a list. */
export interface CauseLine {
  fingerprint: string;
  rule: string;
  impact: Impact;
  /** The scanner's text about the rule. */
  help: string;
  wcag: readonly string[];
  /** The short name of its example. */
  element: string;
  pages: number;
  elements: number;
  /** How many elements are new, and how many are known issues. */
  added: number;
  known: number;
  /** The details, or where they are. */
  details: ViewGroup | FindingsPlace;
}

/** A root cause that is shown. */
export interface ShownCause extends CauseLine {
  /** Null: it could not be read. */
  group: ViewGroup | null;
}

export interface SelectedCauses {
  query: CauseQuery;
  causes: ShownCause[];
  /** The causes that the filters let through, and the parts of the list that they fill. */
  matching: number;
  parts: number;
  /** All causes of each list. */
  totals: Readonly<Record<CauseList, number>>;
  /** What the view has of the list, without filters. */
  lines: readonly CauseLine[];
  /** Whether the findings of the page that filters the list could be read. */
  pageRead: boolean;
}

const [isGroup, isPageFindings] = [Compile(ViewGroup), Compile(PageFindings)];

/** Selects the causes of a query, and reads their details. */
export async function selectCauses(view: ReportView, query: CauseQuery, read: ReadFindings): Promise<SelectedCauses> {
  const lines = linesOf(view, query.list);
  const onPage = await causesOnPage(view, query, read);
  const found = lines.filter((line) => matches(line, query) && (onPage === null || onPage.has(line.fingerprint)));
  const parts = Math.max(1, Math.ceil(found.length / query.size));
  const part = Math.min(query.part, parts);
  const shown = found.slice((part - 1) * query.size, part * query.size);
  const causes = await Promise.all(shown.map(async (line) => ({ ...line, group: await groupOf(line, read) })));
  const totals = { violations: view.groups_total, review: view.needs_review_total, advice: view.advice_total ?? 0 };
  return { query: { ...query, part }, causes, matching: found.length, parts, totals, lines, pageRead: onPage?.size !== 0 };
}

/** What a page of the scan has; null if it has no findings, or if they could not be read. */
export async function readPageFindings(place: FindingsPlace | undefined, read: ReadFindings): Promise<PageFindings | null> {
  const value = place === undefined ? null : await read(place);
  return isPageFindings.Check(value) ? value : null;
}

/** The fingerprints of the causes on the page of the query; null without one. */
async function causesOnPage({ pages }: ReportView, { page, list }: CauseQuery, read: ReadFindings): Promise<ReadonlySet<string> | null> {
  if (page === null || list === 'advice') return null;
  const chosen = pages[page - 1];
  const findings = await readPageFindings(chosen?.tested ? chosen.findings : undefined, read);
  return new Set((list === 'review' ? findings?.needs_review : findings?.causes)?.map(({ fingerprint }) => fingerprint));
}

const matches = (line: CauseLine, { state, severity, criterion, rule, cause }: CauseQuery): boolean =>
  (state === null || { new: line.added > 0, known: line.known > 0, open: line.known < line.elements }[state]) &&
  (severity === null || line.impact === severity) &&
  (criterion === '' || line.wcag.includes(criterion)) &&
  (rule === '' || line.rule === rule) &&
  (cause === '' || line.fingerprint === cause);

function linesOf(view: ReportView, list: CauseList): CauseLine[] {
  if (list !== 'violations') return groupLines((list === 'review' ? view.needs_review : view.advice) ?? []);
  return view.causes.map(({ group, new_elements: added = 0, known_elements: known = 0, ...cause }) => {
    const { help = cause.rule, wcag = [] } = view.cause_rules[cause.rule] ?? {};
    return { ...cause, help, wcag, added, known, details: group };
  });
}

/** The view has all details of these. */
function groupLines(groups: readonly ViewGroup[]): CauseLine[] {
  const names = distinctNames(groups, ({ rule }) => rule);
  return groups.map((group) => {
    const { fingerprint, rule, impact, help, wcag, pages, elements, new_elements: added = 0, known_elements: known = 0 } = group;
    return { fingerprint, rule, impact, help, wcag, element: names.get(group)!, pages, elements, added, known, details: group };
  });
}

async function groupOf({ details }: CauseLine, read: ReadFindings): Promise<ViewGroup | null> {
  if (!('offset' in details)) return details;
  const value = await read(details);
  return isGroup.Check(value) ? value : null;
}

/** What the filters can choose from: of the whole list, in the order of severity and of names. */
export function choicesOf(lines: readonly CauseLine[]): {
  severities: Impact[];
  criteria: string[];
  rules: [rule: string, help: string][];
} {
  const rules = new Map(lines.map(({ rule, help }) => [rule, help]));
  const numeric = new Intl.Collator('en', { numeric: true });
  return {
    severities: IMPACTS.filter((impact) => lines.some((line) => line.impact === impact)),
    criteria: [...new Set(lines.flatMap(({ wcag }) => wcag))].sort(numeric.compare),
    rules: [...rules].sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}
