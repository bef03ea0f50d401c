/** The filters of the list of scans: a form that works without scripts and keeps its state in the address. Pure. */
import { SCANS_PATH } from '../../../core/web-paths.ts';
import { WORDS } from '../../../report/words/words.ts';
import { METADATA_PAIR_MAX, readPair } from '../../../core/scan/metadata.ts';
import { button, filters, link, type Choice } from '../../web/components/index.ts';
import { attributes, html, type Html } from '../../web/html.ts';
import { SEARCH_TEXT_MAX } from '../../../stores/scans/positions.ts';
import { activeFilters, isFiltered, type ListQuery } from '../list-query.ts';

const STATES: readonly Choice[] = [
  { value: 'live', text: 'In progress' },
  { value: 'done', text: 'Done' },
  { value: 'failed', text: 'Failed' },
  { value: 'canceled', text: 'Canceled' },
];
export const VERDICT_CHOICES: readonly Choice[] = [
  { value: 'passed', text: WORDS.en.report.passed },
  { value: 'missed', text: WORDS.en.report.notPassed },
  { value: 'none', text: WORDS.en.report.noThresholds },
];
const ORIGINS: readonly Choice[] = [
  { value: 'api', text: 'API and dashboard' },
  { value: 'manifest', text: 'Manifests and schedules' },
];

export function filterForm(query: ListQuery): Html {
  const form = html`<form class="fields-inline" method="get" action="${SCANS_PATH}" role="search" aria-label="Scans">
    ${textFilter('q', 'Address contains', query.search)} ${textFilter('site', 'Site', query.site)}
    ${textFilter('metadata', 'Metadata', query.metadata, { max: METADATA_PAIR_MAX, error: metadataMistake(query.metadata) })}
    ${choiceFilter('state', 'State', query.state, STATES)} ${choiceFilter('verdict', 'Verdict', query.verdict, VERDICT_CHOICES)}
    ${choiceFilter('origin', 'Origin', query.origin, ORIGINS)}
    <div class="actions">${button({ text: 'Filter' })}${isFiltered(query) && link('Clear filters', SCANS_PATH)}</div>
  </form>`;
  return filters({ form, active: activeFilters(query) });
}

const metadataMistake = (text: string): string | null =>
  text === '' || readPair(text) !== null ? null : 'Write KEY=VALUE, such as branch=main.';

/** Not the fields of forms that change something: these would be marked as optional one by one. */
export function textFilter(
  name: string,
  label: string,
  value: string,
  { max = SEARCH_TEXT_MAX, error = null }: { max?: number; error?: string | null } = {},
): Html {
  const id = `filter-${name}`;
  const input = {
    ...{ class: 'input', type: 'search', id, name, value, maxlength: max, autocomplete: 'off' },
    ...(error !== null && { 'aria-invalid': 'true', 'aria-describedby': `${id}-error` }),
  };
  return html`<div${attributes({ class: error === null ? 'field' : 'field has-error' })}>
    <label for="${id}">${label}</label>${error !== null && html`<p class="field-error" id="${id}-error">${error}</p>`}
    <input${attributes(input)} />
  </div>`;
}

export function choiceFilter(name: string, label: string, value: string | null, choices: readonly Choice[]): Html {
  const id = `filter-${name}`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <select${attributes({ class: 'input', id, name })}>
      <option value="">All</option>
      ${choices.map((choice) => html`<option${attributes({ value: choice.value, selected: choice.value === value })}>${choice.text}</option>`)}
    </select>
  </div>`;
}
