/** The root causes of a scan, filtered and in parts. Filters and place are kept in the address, so that a view can be shared. Pure. */
import { criterionTitle } from '../../../report/rules/success-criteria.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import { claimKey, type KnownIssueTarget } from '../../../core/scan/known-issues.ts';
import { pagePath, ticketPath } from '../../../core/web-paths.ts';
import { elementPath } from '../../../report/schema/page.ts';
import type { KnownIssueRow } from '../../../stores/known-issues/known-issues.ts';
import { hasUncountedStates } from '../../../report/view/sentences.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { pictureName } from '../../scans/scan-views.ts';
import {
  actions,
  button,
  type Choice,
  filters,
  hiddenField,
  link,
  pagination,
  severityBadge,
  tabs,
  visuallyHidden,
} from '../../web/components.ts';
import { html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import { checkButton, checkLink } from '../scans/check.ts';
import { choiceFilter, textFilter } from '../scans/list-query.ts';
import { acceptPath, issuePath, kindBadge } from '../known-issues/pages.ts';
import { causeForms, count, elementForms, number, pagesText, partsOf, shown, siteLink } from '../scans/words.ts';
import { hasState, optionText, ruleChoices, statesIn } from '../../../report/html/filters.ts';
import { pageName } from '../../../report/html/pages.ts';
import type { CauseLine } from '../../../report/view/schema.ts';
import type { Plural } from '../../../report/words/translated.ts';
import { type CauseGroup, type CauseGrouping, groupingsOf, worstOf } from './groups.ts';
import { causeItem, extentOf, type ShownCause, titleOf } from '../../../report/html/cause.ts';
import { causeLinks } from '../../../report/html/result.ts';
import {
  ALL_CAUSES,
  CAUSE_LISTS,
  CAUSE_SIZES,
  type CauseList,
  type CauseQuery,
  type CauseSort,
  causesHref,
  choicesOf,
  type SelectedCauses,
} from './select.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { forms, m, t, tr, trChoices } from '../../web/texts.ts';

/** The first causes of a part are open; only the first one if the page says what to fix. */
const OPEN = 3;

export interface CausesData extends SelectedCauses {
  scanId: string;
  /** Whether the person may accept known issues. */
  mayAccept: boolean;
  /** The newest done check of each root cause. */
  checks: ReadonlyMap<string, ScanRow>;
  /** Whether the page has the form of checks. */
  mayCheck: boolean;
  /** The known issues and decisions about the causes, also those that the scan did not have; see `issueOf`. */
  issues: ReadonlyMap<string, KnownIssueRow>;
  view: ReportView;
}

const NAMES: Readonly<Record<CauseList, string>> = { violations: m`Violations`, review: m`Needs review`, advice: m`Advice` };

export function causeList(data: CausesData): Html {
  const { scanId, view, query, causes, groups, totals, matching, lines } = data;
  const listed = CAUSE_LISTS.filter((list) => list === 'violations' || list === query.list || totals[list] > 0);
  const isNarrowed = activeCauseFilters(query) > 0;
  return html`<section class="card" id="causes" aria-labelledby="causes-title">
    <h2 id="causes-title">${t`Root causes`}</h2>
    ${
      listed.length > 1 &&
      tabs(
        t`Kinds of root causes`,
        listed.map((list) => ({
          text: `${tr(NAMES[list])} (${number(totals[list])})`,
          href: causesHref(scanId, { list }),
          current: list === query.list,
        })),
      )
    }
    ${lines.length === 0 ? html`<p>${tr(NOTHING_FOUND[query.list])}</p>` : html`${!isNarrowed && query.part === 1 && intro(data)} ${filterForm(data)}`}
    ${lines.length > 0 && html`<p><span id="causes-shown">${rangeText(data)}</span> ${sizeLink(data)}</p>`}
    ${groups !== null && query.group !== null && groupList(data, query.group, groups)}
    ${causes.length > 0 && html`<ul class="causes">${causes.map((cause, at) => causeItem(cause, { view, open: at < (saysWhatToFix(view) ? 1 : OPEN), pictureSrc: (name) => picturePath(scanId, pictureName(name)), action: causeActions(data, cause) }))}</ul>`}
    ${pagination({
      previous: query.part > 1 ? causesHref(scanId, { ...query, part: query.part - 1 }) : null,
      next: query.part * query.size < matching ? causesHref(scanId, { ...query, part: query.part + 1 }) : null,
    })}
    ${lines.length < totals[query.list] && html`<p>${listedText(lines.length, count(causeForms(), totals[query.list]))}</p>`}
  </section>`;
}

const NOTHING_FOUND: Readonly<Record<CauseList, string>> = {
  violations: m`No violation was found.`,
  review: m`Nothing needs review.`,
  advice: m`There is no advice.`,
};

function rangeText({ query: { part, size, group }, causes, groups, matching, onPage }: CausesData): string {
  if (onPage?.read === false) return t`The findings of this page could not be read. Reload the page in a moment.`;
  // The findings of a page and the list are both cut at their end.
  const [listed, total] = onPage !== null && onPage.listed < onPage.total ? [onPage.listed, onPage.total] : [];
  if (matching === 0)
    return total === undefined ? t`No root cause matches.` : t`No root cause matches, among the first ${listed} of ${total} on this page.`;
  const first = (part - 1) * size + 1;
  const last = first + (groups ?? causes).length - 1;
  const all = count(group === null ? causeForms() : GROUP_FORMS[group], matching);
  return total === undefined
    ? t`${first} to ${last} of ${all}.`
    : t`${first} to ${last} of ${all}, among the first ${listed} of ${total} on this page.`;
}

function sizeLink({ scanId, query, matching }: CausesData): Html | false {
  const [few, more] = CAUSE_SIZES;
  if (matching <= few || query.group !== null) return false;
  const size = query.size === few ? more : few;
  return link(t`Show ${size} at a time`, causesHref(scanId, { ...query, size, part: 1 }));
}

function intro(data: CausesData): Html {
  const { view, query, lines } = data;
  if (query.list === 'review')
    return html`<p>${t`The test could not decide about ${count(elementForms(), view.score.needs_review)}. Check each one yourself, and decide: later scans keep it. Until then they are not violations and do not change the score.`}</p>
      ${hasUncountedStates(view) && html`<p>${wordsIn(currentLocale(), 'findings').texts.statesNotCounted}</p>`}`;
  if (query.list === 'advice')
    return html`<p>${t`Best practices that WCAG does not require, for ${count(elementForms(), view.advice_elements)}. They are not violations and do not change the score.`}</p>`;
  const newFirst = query.sort === null && lines.some((line) => hasState(line, 'new'));
  return html`${newFirst && html`<p>${t`Those that the baseline does not have are first.`}</p>`}
    ${!saysWhatToFix(view) && data.totals.violations > view.leading.causes.length && leadingCauses(data)}`;
}

/** Whether the page has a list of what to fix to pass. */
const saysWhatToFix = ({ to_pass: toPass }: CausesData['view']): boolean => (toPass?.causes.length ?? 0) > 0;

/** What to fix first. */
function leadingCauses({ view, scanId }: CausesData): Html {
  const { causes, percent } = view.leading;
  return html`<section class="leading" aria-labelledby="leading-title">
    <h3 id="leading-title">${count(LEADING, causes.length, { percent: `${number(percent)} %` })}</h3>
    ${causeLinks(view, { id: 'leading-causes', causes, href: (cause) => causesHref(scanId, { cause }) })}
  </section>`;
}

const LEADING = forms(
  'What to fix first: {n} cause, {percent} of the violations',
  'What to fix first: {n} causes, {percent} of the violations',
);

function filterForm({ scanId, query, lines, view, onPage }: CausesData): Html {
  const { severities, criteria } = choicesOf(view, lines);
  const words = wordsIn(currentLocale(), 'report').texts;
  const findings = wordsIn(currentLocale(), 'findings').texts;
  const page = query.page === null ? undefined : view.pages[query.page - 1];
  // Groups have a size of their own.
  const kept: Partial<CauseQuery> = {
    list: query.list,
    page: query.page,
    template: query.template,
    ...(query.group === null && { size: query.size }),
  };
  const only =
    page === undefined
      ? query.template !== '' && t`Only on pages such as ${html`<code>${query.template}</code>`}.`
      : t`Only on ${siteLink(page.url)}.`;
  const form = html`<form class="fields-inline" method="get" action="${causesHref(scanId, {})}" role="search" aria-label="${t`Root causes`}">
    ${Object.entries(kept).map(([name, value]) => value !== ALL_CAUSES[name as keyof CauseQuery] && hiddenField(name, String(value)))}
    ${textFilter('q', t`Contains the text`, query.q)}
    ${choice(
      'state',
      findings.state,
      query.state,
      statesIn(lines).map((value) => ({ value, text: findings.states[value] })),
    )}
    ${choice(
      'severity',
      words.severity,
      query.severity,
      severities.map((value) => ({ value, text: words.severities[value] })),
    )}
    ${choice(
      'criterion',
      words.byCriterion.criterion,
      query.criterion,
      criteria.map((value) => ({ value, text: optionText(criterionTitle(value, currentLocale())) })),
    )}
    ${choice(
      'rule',
      findings.rule,
      query.rule,
      ruleChoices(view, lines).map(([value, text]) => ({ value, text })),
    )}
    ${choiceFilter(
      'group',
      t`Group by`,
      query.group,
      groupingsOf(lines).map((value) => ({ value, text: tr(GROUP_NAMES[value]) })),
      t`Not grouped`,
    )}
    ${choiceFilter('sort', t`Sort by`, query.sort, trChoices(SORTS), t`Order of the scan`)}
    <div class="actions">${button({ text: t`Filter` })}${activeCauseFilters(query) > 0 && link(findings.showAll, causesHref(scanId, { list: query.list }))}</div>
  </form>`;
  return html`${filters({ form, active: activeCauseFilters(query) })}
  ${
    onPage?.read === true &&
    query.page !== null &&
    onPage.listed < onPage.total &&
    html`<p>${t`Choose a severity or a rule to see fewer, or ${link(t`see the page with its map`, pagePath(scanId, query.page))}. The JSON export has all of them.`}</p>`
  }
  ${only && html`<p>${only} ${link(t`Show every page`, causesHref(scanId, { ...query, page: null, template: '', part: 1 }))}</p>`}`;
}

const SORTS: readonly (Choice & { value: CauseSort })[] = [
  { value: 'severity', text: m`Severity` },
  { value: 'elements', text: m`Most elements` },
  { value: 'pages', text: m`Most pages` },
  { value: 'new', text: m`Most new elements` },
  { value: 'rule', text: m`Rule` },
];

const GROUP_NAMES: Readonly<Record<CauseGrouping, string>> = { rule: m`Rule`, page: m`Page`, template: m`Page template` };
const GROUP_FORMS: Readonly<Record<CauseGrouping, Plural>> = {
  rule: forms('{n} rule', '{n} rules'),
  page: forms('{n} page', '{n} pages'),
  template: forms('{n} template', '{n} templates'),
};
/** The first causes of a group; a link leads to all. */
const GROUP_SHOWN = 5;

/** Groups that open without scripts. */
function groupList(data: CausesData, by: CauseGrouping, groups: readonly CauseGroup[]): Html {
  const { pages, pages_total: total } = data.view;
  const example = html`<code>/products/*</code>`;
  return html`${by === 'template' && html`<p class="soft">${t`Pages whose addresses have the same form, such as ${example}, probably share a template.`}</p>`}
    ${by !== 'rule' && pages.length < total && html`<p>${listedText(pages.length, pagesText(total))}</p>`}
    <ul class="causes">${groups.map((group) => groupItem(data, by, group))}</ul>`;
}

/** The first causes of a group, and the way to all of them with their details. */
function groupItem({ scanId, view, query }: CausesData, by: CauseGrouping, { key, lines, pages }: CauseGroup): Html {
  const value = by === 'page' ? Number(key) : key;
  const name = groupName(view, by, key);
  const inGroup = causesHref(scanId, { ...query, group: null, size: ALL_CAUSES.size, part: 1, [by]: value });
  const lineItem = ({ rule, impact, element, fingerprint, ...extent }: CauseLine): Html => {
    const title = titleOf(view, rule);
    const named = html`${by === 'rule' ? visuallyHidden(title) : title} <code>${shown(element, 100)}</code>`;
    const href = causesHref(scanId, { list: query.list, cause: fingerprint });
    return html`<li>${by !== 'rule' && severityBadge(impact)} ${link(named, href)} <span class="soft">${extentOf(extent)}</span></li>`;
  };
  const facts = [count(causeForms(), lines.length), ...(by === 'template' ? [pagesText(pages)] : [])];
  return html`<li class="cause">
    <details>
      <summary>
        <h3>${severityBadge(worstOf(lines))} ${name}</h3>
        <span class="cause-facts">${facts.map((fact) => html`<span>${fact}</span>`)}</span>
      </summary>
      <div class="cause-body">
        <ul>${lines.slice(0, GROUP_SHOWN).map(lineItem)}</ul>
        <p>${link(html`${t`Show all with details`} ${visuallyHidden(name)}`, inGroup)}</p>
      </div>
    </details>
  </li>`;
}

function groupName(view: ReportView, by: CauseGrouping, key: string): HtmlValue {
  if (by === 'rule') return titleOf(view, key);
  const page = by === 'page' ? view.pages[Number(key) - 1] : undefined;
  return page?.tested ? html`${pageName(page)} <code>${partsOf(page.url).path}</code>` : html`<code>${shown(key, 100)}</code>`;
}

/** @param all how many there are of what */
const listedText = (listed: number, all: string): string =>
  t`The first ${listed} of ${all} are listed here. The JSON export has all of them.`;

/** Left out if there is nothing to choose. */
function choice(name: string, label: string, value: string | null, choices: readonly Choice[]): Html {
  return choices.length === 0 || (choices.length === 1 && !value) ? NOTHING : choiceFilter(name, label, value, choices);
}

/** The number of filters that are set. */
const activeCauseFilters = ({ q, state, severity, criterion, rule, page, template, cause }: CauseQuery): number =>
  [q, state, severity, criterion, rule, page, template, cause].filter((one) => one !== '' && one !== null).length;

/** The address of a picture of a scan. */
export const picturePath = (scanId: string, name: string): string => `/dashboard/scans/${scanId}/pictures/${name}`;

/** What known issues may be about a cause: all of it, or the elements at the place of its example. */
export const targetsOf = (list: CauseList, { line, cause }: ShownCause): KnownIssueTarget[] => {
  if (list === 'advice') return [];
  const kind = list === 'review' ? { kind: 'fault' as const } : {};
  const { fingerprint, rule } = line;
  return [{ ...kind, fingerprint }, ...(cause === null ? [] : [{ ...kind, rule, selector: elementPath(cause.example) }])];
};

/** What is known about a cause, and what a person can do. Screen readers tell the actions apart by what the page calls the causes. */
function causeActions({ scanId, view, query: { list }, mayAccept, issues, checks, mayCheck }: CausesData, shownCause: ShownCause): Html {
  const { line, cause } = shownCause;
  const { fingerprint, rule, element, elements, known_elements: known = 0 } = line;
  const what = `${titleOf(view, rule)} ${element}`;
  const url = list === 'violations' ? cause?.page_urls[0] : undefined;
  const check = mayCheck && url !== undefined && checkButton({ url, cause: fingerprint }, what);
  const issue = targetsOf(list, shownCause).flatMap((target) => issues.get(claimKey(target)) ?? [])[0];
  const isOpen = mayAccept && issue === undefined && list !== 'advice' && known < elements;
  const text = list === 'review' ? t`Decide: fine or a fault` : t`Accept as known`;
  const accept = isOpen && link(html`${text} ${visuallyHidden(what)}`, acceptPath(scanId, list, fingerprint));
  const ticket = url !== undefined && link(html`${t`Issue text`} ${visuallyHidden(what)}`, ticketPath(scanId, fingerprint));
  return html`${issue !== undefined && issueLine(issue, known)} ${checkLink(checks.get(fingerprint), line.pages > 1)} ${(ticket || accept) && actions(check, ticket, accept)}`;
}

const issueLine = (issue: KnownIssueRow, known: number): Html =>
  html`<p>${kindBadge(issue)} ${link(shown(issue.reason, 100), issuePath(issue.id))}${known === 0 && html`. ${t`It counts in scans that start from now on.`}`}</p>`;
