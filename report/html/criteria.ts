/** The success criteria of a scan, each with what its rules say. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import { CRITERION_STATES, criterionState } from '../results/rule-outcomes.ts';
import { criterionName } from '../rules/success-criteria.ts';
import type { ReportView } from '../view/schema.ts';
import { wordsIn } from '../words/words.ts';
import { table } from './blocks.ts';
import { badge } from './elements.ts';
import { html, type Html } from './html.ts';

type Criteria = NonNullable<ReportView['criteria']>;

const BADGES = { failed: 'bad', needs_review: 'warn', passed: 'note' } as const;

/** What the rules say of how many criteria, and what that does not mean. */
export function criteriaCounts(criteria: Criteria, locale: Locale = currentLocale()): Html {
  const { texts, number } = wordsIn(locale, 'report');
  const { intro, states } = texts.byCriterion;
  const countOf = (state: string): string => number(criteria.filter((one) => criterionState(one) === state).length);
  return html`<p>${intro}</p>
    <ul>${CRITERION_STATES.map((state) => html`<li>${states[state]}: ${countOf(state)}</li>`)}</ul>`;
}

/** A line for each criterion. */
export function criteriaTable(criteria: Criteria, locale: Locale = currentLocale()): Html {
  const { texts, number } = wordsIn(locale, 'report');
  const { heading, criterion, level, states, pages } = texts.byCriterion;
  return table({
    id: 'criteria-table',
    caption: heading,
    captionHidden: true,
    columns: [{ text: criterion }, { text: level }, { text: texts.result }, { text: pages, numeric: true }],
    rows: criteria.map((one) => {
      const state = criterionState(one);
      const result = state === 'untested' ? states[state] : badge(BADGES[state], states[state]);
      return [`${one.id} ${criterionName(one.id, locale)}`, one.level, result, number(one.pages.failed)];
    }),
  });
}
