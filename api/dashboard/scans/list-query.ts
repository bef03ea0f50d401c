/** The query of the list of scans, and the form that sets it without scripts. It is kept in the address of the page. Pure. */
import { METADATA_PAIR_MAX, readPair } from '../../../core/scan/metadata.ts';
import { LIVE_PHASES, type Phase } from '../../../core/scan/phases.ts';
import { type Position, SEARCH_TEXT_MAX } from '../../../stores/scans/positions.ts';
import { type ScanSearch, type VerdictFilter, VERDICTS } from '../../../stores/scans/scan-search.ts';
import { SCANS_PATH } from '../../../core/web-paths.ts';
import { decodeCursor, encodeCursor } from '../../http/pagination.ts';
import { addressOf, attributes, html, type Html } from '../../../report/html/html.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { button, type Choice, filters, link } from '../../web/components.ts';
import { m, t, trChoices } from '../../web/texts.ts';

/** The states that people filter by. `live`: the scan has not ended. */
const STATES = { live: LIVE_PHASES, done: ['done'], failed: ['failed'], canceled: ['canceled'] } as const satisfies Record<
  string,
  readonly Phase[]
>;
type State = keyof typeof STATES;

const ORIGINS = ['api', 'manifest'] as const satisfies ScanSearch['origin'][];

export interface ListQuery {
  /** Part of an address. Empty: every address. */
  search: string;
  /** The host of the site, as in the rows. Empty: every site. */
  site: string;
  /** A pair of metadata as it was typed, `KEY=VALUE`. Empty: every scan. */
  metadata: string;
  state: State | null;
  verdict: VerdictFilter | null;
  origin: (typeof ORIGINS)[number] | null;
  /** Only scans after this one in the list. Null: from the newest one on. */
  after: Position | null;
}

export const ALL_SCANS: ListQuery = { search: '', site: '', metadata: '', state: null, verdict: null, origin: null, after: null };

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readListQuery(params: Readonly<Record<string, unknown>>): ListQuery {
  const text = (name: string, max = SEARCH_TEXT_MAX): string => (typeof params[name] === 'string' ? params[name].trim().slice(0, max) : '');
  const one = <T extends string>(name: string, values: readonly T[]): T | null => values.find((value) => value === params[name]) ?? null;
  return {
    search: text('q'),
    site: text('site').toLowerCase(),
    metadata: text('metadata', METADATA_PAIR_MAX),
    state: one('state', Object.keys(STATES) as State[]),
    verdict: one('verdict', VERDICTS),
    origin: one('origin', ORIGINS),
    after: positionOf(params['after']),
  };
}

/** The position in a cursor of an address. */
export function positionOf(cursor: unknown): Position | null {
  try {
    return typeof cursor === 'string' ? decodeCursor(cursor) : null;
  } catch {
    // A cursor that was cut off: the list begins with the newest scans.
    return null;
  }
}

/** The address of a list. */
export const listHref = ({ search, after, ...filters }: ListQuery, path: string = SCANS_PATH): string =>
  addressOf(path, { q: search, ...filters, after: after && encodeCursor(after) });

/**
 * The address of the list that a person comes from, with its filters and place; that of all scans if they come from another page.
 * @param referer the header of the request
 * @param host that of this dashboard
 */
export function listBefore(referer: string | undefined, host: string): string {
  if (referer === undefined || !URL.canParse(referer)) return SCANS_PATH;
  const before = new URL(referer);
  if (before.host !== host || before.pathname !== SCANS_PATH) return SCANS_PATH;
  return listHref(readListQuery(Object.fromEntries(before.searchParams)));
}

/** The number of filters that are set. */
export const activeFilters = ({ search, site, metadata, state, verdict, origin }: ListQuery): number =>
  [search, site, metadata, state, verdict, origin].filter((one) => one !== '' && one !== null).length;

/** Whether the query leaves out scans. */
export const isFiltered = (query: ListQuery): boolean => activeFilters(query) > 0;

export function toSearch({ search, site, metadata, state, verdict, origin, after }: ListQuery, limit: number): ScanSearch {
  return {
    ...(search !== '' && { text: search }),
    ...(site !== '' && { site }),
    // What is no pair matches no scan, because no key is empty. The form says what is wrong.
    ...(metadata !== '' && { metadata: Object.fromEntries([readPair(metadata) ?? ['', metadata]]) }),
    ...(state !== null && { phases: STATES[state] }),
    ...(verdict !== null && { verdict }),
    ...(origin !== null && { origin }),
    after,
    limit,
  };
}

const STATE_CHOICES: readonly Choice[] = [
  { value: 'live', text: m`In progress` },
  { value: 'done', text: m`Done` },
  { value: 'failed', text: m`Failed` },
  { value: 'canceled', text: m`Canceled` },
];
export function verdictChoices(): Choice[] {
  const { passed, notPassed, noThresholds } = wordsIn(currentLocale(), 'report').texts;
  const texts: Record<VerdictFilter, string> = { passed, missed: notPassed, none: noThresholds };
  return VERDICTS.map((value) => ({ value, text: texts[value] }));
}
const ORIGIN_CHOICES: readonly Choice[] = [
  { value: 'api', text: m`API and dashboard` },
  { value: 'manifest', text: m`Manifests and schedules` },
];

export function filterForm(query: ListQuery): Html {
  const form = html`<form class="fields-inline" method="get" action="${SCANS_PATH}" role="search" aria-label="${t`Scans`}">
    ${textFilter('q', t`Address contains`, query.search)} ${textFilter('site', t`Site`, query.site)}
    ${textFilter('metadata', t`Metadata`, query.metadata, { max: METADATA_PAIR_MAX, error: metadataMistake(query.metadata) })}
    ${choiceFilter('state', t`State`, query.state, STATE_CHOICES)} ${choiceFilter('verdict', t`Verdict`, query.verdict, verdictChoices())}
    ${choiceFilter('origin', t`Origin`, query.origin, ORIGIN_CHOICES)}
    <div class="actions">${button({ text: t`Filter` })}${isFiltered(query) && link(t`Clear filters`, SCANS_PATH)}</div>
  </form>`;
  return filters({ form, active: activeFilters(query) });
}

const metadataMistake = (text: string): string | null =>
  text === '' || readPair(text) !== null ? null : t`Write KEY=VALUE, such as branch=main.`;

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

/** @param all the choice of those who choose nothing */
export function choiceFilter(name: string, label: string, value: string | null, choices: readonly Choice[], all = t`All`): Html {
  const id = `filter-${name}`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <select${attributes({ class: 'input', id, name })}>
      <option value="">${all}</option>
      ${trChoices(choices).map((choice) => html`<option${attributes({ value: choice.value, selected: choice.value === value })}>${choice.text}</option>`)}
    </select>
  </div>`;
}
