/** The filters of the root causes in a report of one file. Its script shows them: without it, every cause is shown. Pure. */
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { PageCauses } from '../view/findings.ts';
import type { CauseLine, ReportView } from '../view/schema.ts';
import { wordsIn } from '../words/words.ts';
import { titleOf } from './cause.ts';
import { button, shown } from './elements.ts';
import { pageName } from './pages.ts';
import { attributes, type Attributes, html, type Html, NOTHING } from './html.ts';

/** `new`: the baseline does not have all elements. `known`: some elements are known issues. `open`: some are not. */
export const CAUSE_STATES = ['new', 'known', 'open'] as const;
export type CauseState = (typeof CAUSE_STATES)[number];

export const hasState = ({ elements, new_elements: added = 0, known_elements: known = 0 }: CauseLine, state: CauseState): boolean =>
  ({ new: added > 0, known: known > 0, open: known < elements })[state];

/** The states that lists can be filtered by. That nothing is known needs no filter. */
export const statesIn = (lines: readonly CauseLine[]): CauseState[] =>
  CAUSE_STATES.filter((state) => lines.some((line) => hasState(line, state === 'open' ? 'known' : state)));

/** The numbers of the pages of each root cause. @param found what each page has, in the order of the scan */
export function pagesByCause(found: readonly (PageCauses | null)[]): ReadonlyMap<string, number[]> {
  const pages = new Map<string, number[]>();
  for (const [index, page] of found.entries())
    for (const { fingerprint } of page?.causes ?? []) pages.set(fingerprint, [...(pages.get(fingerprint) ?? []), index + 1]);
  return pages;
}

/** The script splits what it compares at spaces. */
const wordOf = (rule: string): string => rule.replaceAll(/\s/g, '_');

/** What the filters compare, as attributes of a line. */
export const filterMarks = (line: CauseLine, pages: readonly number[] = []): Attributes => ({
  'data-severity': line.impact,
  'data-rule': wordOf(line.rule),
  'data-page': pages.join(' '),
  'data-state': CAUSE_STATES.filter((state) => hasState(line, state)).join(' '),
});

/** Longer texts of options make the form wider than a phone. Every page has one. */
const OPTION_MAX = 60;

type Choice = readonly [value: string, text: string];

/** The form, hidden until the script shows it. Choices that every line has are left out. */
export function causeFilters(view: ReportView, lines: readonly CauseLine[], found: readonly (PageCauses | null)[], locale: Locale): Html {
  const { texts } = wordsIn(locale, 'findings');
  const { severity, severities, page } = wordsIn(locale, 'report').texts;
  const rules = [...new Set(lines.map(({ rule }) => rule))].sort();
  const pages = found.flatMap((causes, index): Choice[] => {
    const listed = view.pages[index]!;
    return causes !== null && listed.tested ? [[String(index + 1), shown(`${index + 1}. ${pageName(listed)}`, OPTION_MAX)]] : [];
  });
  return html`<form id="filters" class="fields-inline" hidden role="search" aria-label="${texts.filter}">
      ${choice(
        'severity',
        severity,
        IMPACTS.filter((impact) => lines.some((line) => line.impact === impact)).map((impact) => [impact, severities[impact]]),
        locale,
      )}
      ${choice(
        'rule',
        texts.rule,
        rules.map((rule) => [wordOf(rule), titleOf(view, rule, locale)]),
        locale,
      )}
      ${choice('page', page, pages, locale)}
      ${choice(
        'state',
        texts.state,
        statesIn(lines).map((state) => [state, texts.states[state]]),
        locale,
      )}
      <div class="actions">${button({ text: texts.showAll, attributes: { type: 'reset' } })}</div>
    </form>
    <p id="causes-shown" role="status" data-text="${texts.shown}"></p>`;
}

function choice(name: string, label: string, choices: readonly Choice[], locale: Locale): Html {
  if (choices.length < 2) return NOTHING;
  const id = `filter-${name}`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <select${attributes({ class: 'input', id, name })}>
      <option value="">${wordsIn(locale, 'findings').texts.all}</option>
      ${choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
    </select>
  </div>`;
}
