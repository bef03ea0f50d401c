/** Selects the root causes that a page of the dashboard shows, and reads their details. */
import type { FastifyRequest } from 'fastify';
import { Compile } from 'typebox/compile';
import { type Impact, IMPACTS } from '../../../core/scan/impacts.ts';
import { distinctNames } from '../../../report/causes/element-names.ts';
import { type ShownCause, titleOf } from '../../../report/html/cause.ts';
import { CAUSE_STATES, type CauseState, hasState } from '../../../report/html/filters.ts';
import { PageCauses } from '../../../report/view/findings.ts';
import { RootCause } from '../../../report/schema/root-cause.ts';
import { openSchema } from '../../../report/view/bounds.ts';
import { type CauseLine, type FindingsPlace, type ReportView, ruleOf } from '../../../report/view/schema.ts';
import { READ_LIMITS } from '../../scans/scan-views.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import {
  CAUSE_GROUPINGS,
  type CauseGroup,
  type CauseGrouping,
  type GroupedView,
  groupLines,
  groupingsOf,
  templateFilter,
} from './groups.ts';
import { addressOf } from '../../../report/html/html.ts';
import { scanPath } from '../../../core/web-paths.ts';

/** Reads a part of the findings of the scan; null if it cannot be read. */
export type ReadFindings = (place: FindingsPlace) => Promise<unknown>;

export interface SelectedCauses {
  query: CauseQuery;
  causes: ShownCause[];
  /** The groups of this part. Null: the causes are not grouped, and `causes` has those of this part. */
  groups: readonly CauseGroup[] | null;
  /** The causes that the filters let through, or their groups. */
  matching: number;
  /** All causes of each list. */
  totals: Readonly<Record<CauseList, number>>;
  /** What the view has of the list, without filters. */
  lines: readonly CauseLine[];
  /** The page that filters the list. Null: none does. */
  onPage: OnPage | null;
}

/** What is known of a page: how many of its causes the list has, and how many it has in all. */
export type OnPage = { read: false } | { read: true; listed: number; total: number };

/** Where the view has the root causes of each list. */
const GROUPS = { violations: 'groups', review: 'review_groups', advice: 'advice_groups' } as const;

/** The part of a view that lists have. */
type Listed = GroupedView & Pick<ReportView, (typeof GROUPS)[CauseList] | `${(typeof GROUPS)[CauseList]}_total` | 'causes'>;

/** As many as an organisation may have at a time, so that a few pages do not fill its queue. */
const READS_AT_ONCE = READ_LIMITS.held.perKey;

const [isCause, isPageCauses] = [Compile(openSchema(RootCause)), Compile(openSchema(PageCauses))];

/** Selects the causes of a query, and reads their details. A page that cannot filter the list is ignored. */
export async function selectCauses(view: Listed, asked: CauseQuery, read: ReadFindings): Promise<SelectedCauses> {
  const lines = linesOf(view, asked.list);
  const group = groupingsOf(lines).find((one) => one === asked.group) ?? null;
  const query = { ...asked, group, page: filteringPage(view, asked), ...(group !== null && { size: CAUSE_SIZES[1] }) };
  const { has, onPage } = await causesOnPage(view, query, lines, read);
  const onTemplate = templateFilter(view, query.template);
  const matching = lines.filter((line) => matches(view, line, query) && has(line) && onTemplate(line));
  const found = query.sort === null ? matching : matching.toSorted(ORDERS[query.sort](view));
  const groups = group === null ? null : groupLines(view, found, { ...query, by: group });
  const all = groups ?? found;
  const parts = Math.max(1, Math.ceil(all.length / query.size));
  const part = Math.min(query.part, parts);
  const ofPart = <T>(entries: readonly T[]): T[] => entries.slice((part - 1) * query.size, part * query.size);
  const shown = groups === null ? ofPart(found) : [];
  const causes: ShownCause[] = [];
  for (let at = 0; at < shown.length; at += READS_AT_ONCE) {
    const some = shown.slice(at, at + READS_AT_ONCE);
    causes.push(...(await Promise.all(some.map(async (line) => ({ line, cause: await detailsOf(view, query.list, line, read) })))));
  }
  const totals = { violations: view.groups_total, review: view.review_groups_total, advice: view.advice_groups_total };
  return { query: { ...query, part }, causes, groups: groups && ofPart(groups), matching: all.length, totals, lines, onPage };
}

/** The number of the page if it can filter the list: it was tested, and the findings of pages have the list. */
const filteringPage = ({ pages }: Listed, { page, list }: CauseQuery): number | null =>
  page !== null && list !== 'advice' && pages[page - 1]?.tested ? page : null;

/** A root cause, without its details. */
export const findCause = (view: Listed, list: CauseList, fingerprint: string): CauseLine | undefined =>
  linesOf(view, list).find((line) => line.fingerprint === fingerprint);

/** The details of a root cause. The first ones are in the view, which is kept in memory. Null: there are none. @throws as `read` */
export async function detailsOf(
  view: Listed,
  list: CauseList,
  { fingerprint, details }: CauseLine,
  read: ReadFindings,
): Promise<RootCause | null> {
  const kept = view[GROUPS[list]].find((cause) => cause.fingerprint === fingerprint);
  if (kept !== undefined || details === undefined) return kept ?? null;
  const value = await read(details);
  return isCause.Check(value) ? value : null;
}

/** What a page of the scan has; null if it has no findings, or if they could not be read. */
export async function readPageFindings(place: FindingsPlace | undefined, read: ReadFindings): Promise<PageCauses | null> {
  const value = place === undefined ? null : await read(place);
  return isPageCauses.Check(value) ? value : null;
}

interface PageFilter {
  has: (line: CauseLine) => boolean;
  onPage: OnPage | null;
}

async function causesOnPage(
  { pages }: Listed,
  { page, list }: CauseQuery,
  lines: readonly CauseLine[],
  read: ReadFindings,
): Promise<PageFilter> {
  const chosen = page === null ? undefined : pages[page - 1];
  if (!chosen?.tested) return { has: () => true, onPage: null };
  const nothing = { has: () => false };
  if (chosen.findings === undefined) return { ...nothing, onPage: { read: true, listed: 0, total: 0 } };
  const findings = await readPageFindings(chosen.findings, read);
  if (findings === null) return { ...nothing, onPage: { read: false } };
  const [causes, total] =
    list === 'review' ? [findings.needs_review, findings.needs_review_total] : [findings.causes, findings.causes_total];
  const fingerprints = new Set(causes.map(({ fingerprint }) => fingerprint));
  const has = ({ fingerprint }: CauseLine): boolean => fingerprints.has(fingerprint);
  return { has, onPage: { read: true, listed: lines.filter(has).length, total } };
}

/** Of each way to sort; causes that are equal keep the order of the list. */
const ORDERS: Readonly<Record<CauseSort, (view: Listed) => (a: CauseLine, b: CauseLine) => number>> = {
  severity: () => (a, b) => IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact),
  elements: () => (a, b) => b.elements - a.elements,
  pages: () => (a, b) => b.pages - a.pages,
  new: () => (a, b) => (b.new_elements ?? 0) - (a.new_elements ?? 0),
  rule: (view) => (a, b) => numeric.compare(titleOf(view, a.rule), titleOf(view, b.rule)) || numeric.compare(a.rule, b.rule),
};

/** The text is a part of the title of the rule, of its name, or of the name of the element. */
const hasText = (view: Listed, { rule, element }: CauseLine, text: string): boolean =>
  [titleOf(view, rule), rule, element].some((part) => part.toLowerCase().includes(text.toLowerCase()));

const matches = (view: Listed, line: CauseLine, { q, state, severity, criterion, rule, cause }: CauseQuery): boolean =>
  (q === '' || hasText(view, line, q)) &&
  (state === null || hasState(line, state)) &&
  (severity === null || line.impact === severity) &&
  (criterion === '' || ruleOf(view, line.rule).wcag.includes(criterion)) &&
  (rule === '' || line.rule === rule) &&
  (cause === '' || line.fingerprint === cause);

function linesOf(view: Listed, list: CauseList): readonly CauseLine[] {
  if (list === 'violations') return view.causes;
  const causes = view[GROUPS[list]];
  const names = distinctNames(causes, ({ rule }) => rule);
  return causes.map((cause) => ({ ...cause, element: names.get(cause)! }));
}

const numeric = new Intl.Collator('en', { numeric: true });

/** What the filters can choose from: of the whole list, in the order of severity and of names. */
export function choicesOf(view: Pick<ReportView, 'cause_rules'>, lines: readonly CauseLine[]) {
  const impacts = new Set(lines.map(({ impact }) => impact));
  const criteria = new Set(lines.flatMap(({ rule }) => ruleOf(view, rule).wcag));
  return {
    severities: IMPACTS.filter((impact) => impacts.has(impact)),
    criteria: [...criteria].sort(numeric.compare),
  };
}

/** For all reads of a request. */
const TIMEOUT_MS = 4_000;

/** Reads parts of the findings of a scan for one request. Pages say which parts they lack. The log has the first error. */
export function findingsReader({ server: { scanViews, logger } }: FastifyRequest, row: ScanRow): ReadFindings {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let isLogged = false;
  return async (place) => {
    try {
      return await scanViews.readFindings(row, place, signal);
    } catch (error) {
      if (!isLogged) logger.warn({ scan: row.id, err: error }, 'findings not read');
      isLogged = true;
      return null;
    }
  };
}

export const CAUSE_LISTS = ['violations', 'review', 'advice'] as const;

export type CauseList = (typeof CAUSE_LISTS)[number];

export const CAUSE_SORTS = ['severity', 'elements', 'pages', 'new', 'rule'] as const;
export type CauseSort = (typeof CAUSE_SORTS)[number];

export interface CauseQuery {
  list: CauseList;
  /** A text to find. Empty: every cause. */
  q: string;
  /** Null: the order of the list. */
  sort: CauseSort | null;
  /** Null: one by one. */
  group: CauseGrouping | null;
  state: CauseState | null;
  severity: Impact | null;
  /** A success criterion of WCAG, such as `1.4.3`. Empty: every one. */
  criterion: string;
  /** Empty: every rule. */
  rule: string;
  /** The number of a page in the scan, from 1. Null: every page. */
  page: number | null;
  /** A template of pages; see `templatesOf`. Empty: every one. */
  template: string;
  /** The fingerprint of the only cause. Empty: every one. */
  cause: string;
  /** The part of the list, from 1. */
  part: number;
  /** Causes in a part: few, so that the page is short, or more. */
  size: number;
}

/** With the first, a page is at most 4,000 px high, at 320 px of width too. */
export const CAUSE_SIZES = [5, 25] as const;

export const ALL_CAUSES: CauseQuery = {
  list: 'violations',
  q: '',
  sort: null,
  group: null,
  state: null,
  severity: null,
  criterion: '',
  rule: '',
  page: null,
  template: '',
  cause: '',
  part: 1,
  size: CAUSE_SIZES[0],
};

const TEXT_MAX = 200;

const NUMBER_MAX = 100_000;

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readCauseQuery(params: Readonly<Record<string, unknown>>): CauseQuery {
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name].trim().slice(0, TEXT_MAX) : '');
  const one = <T extends string>(name: string, values: readonly T[]): T | null => values.find((value) => value === params[name]) ?? null;
  const number = (name: string): number | null => (/^[1-9]\d{0,5}$/.test(text(name)) ? Math.min(Number(text(name)), NUMBER_MAX) : null);
  return {
    list: one('list', CAUSE_LISTS) ?? 'violations',
    q: text('q'),
    sort: one('sort', CAUSE_SORTS),
    group: one('group', CAUSE_GROUPINGS),
    state: one('state', CAUSE_STATES),
    severity: one('severity', IMPACTS),
    criterion: text('criterion'),
    rule: text('rule'),
    page: number('page'),
    template: text('template'),
    cause: text('cause'),
    part: number('part') ?? 1,
    size: CAUSE_SIZES.find((size) => size === number('size')) ?? CAUSE_SIZES[0],
  };
}

/** The address of a list of root causes of a scan. */
export function causesHref(scanId: string, query: Partial<CauseQuery>): string {
  const changed = Object.entries(query).filter(([name, value]) => value !== ALL_CAUSES[name as keyof CauseQuery]);
  return `${addressOf(scanPath(scanId), Object.fromEntries(changed))}#causes`;
}
