/** The filters of the root causes in a report of one file. Its script shows them: without it, every cause is shown. Pure. */
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { CauseLine, ReportView } from '../view/schema.ts';
import { currentLocale } from '../words/current.ts';
import { wordsIn } from '../words/words.ts';
import { titleOf } from './cause.ts';
import { button } from './elements.ts';
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

/** The script splits what it compares at spaces. */
const wordOf = (rule: string): string => rule.replaceAll(/\s/g, '_');

/** What the filters compare, as attributes of a line. */
export const filterMarks = (line: CauseLine): Attributes => ({
  'data-severity': line.impact,
  'data-rule': wordOf(line.rule),
  'data-page': (line.on_pages ?? []).join(' '),
  'data-state': CAUSE_STATES.filter((state) => hasState(line, state)).join(' '),
});

/** Longer texts of options make the form wider than a phone. */
const OPTION_MAX = 44;

/** The text of an option, cut after a word. */
export const optionText = (text: string): string =>
  text.length <= OPTION_MAX ? text : `${text.slice(0, OPTION_MAX).replace(/\s+\S*$/, '')}…`;

type Choice = readonly [value: string, text: string];

/** Rules by what they ask for, in short. Those that would read the same have their ID too. */
export function ruleChoices(
  view: Pick<ReportView, 'cause_rules'>,
  lines: readonly Pick<CauseLine, 'rule'>[],
  locale: Locale = currentLocale(),
): Choice[] {
  const rules = [...new Set(lines.map(({ rule }) => rule))];
  const texts = new Map(rules.map((rule) => [rule, optionText(titleOf(view, rule, locale).replace(/\.$/, ''))]));
  const same = Map.groupBy(rules, (rule) => texts.get(rule)!);
  return [...texts]
    .map(([rule, text]) => [rule, same.get(text)!.length > 1 ? `${text} (${rule})` : text] as const)
    .sort(([, a], [, b]) => a.localeCompare(b, locale));
}

/** The form, hidden until the script shows it. Choices that every line has are left out. */
export function causeFilters(view: ReportView, lines: readonly CauseLine[], locale: Locale): Html {
  const { texts } = wordsIn(locale, 'findings');
  const { severity, severities, page } = wordsIn(locale, 'report').texts;
  const pages = view.pages.flatMap((listed, index): Choice[] =>
    listed.tested && listed.findings !== undefined ? [[String(index + 1), optionText(`${index + 1}. ${pageName(listed)}`)]] : [],
  );
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
        ruleChoices(view, lines, locale).map(([rule, text]) => [wordOf(rule), text]),
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
