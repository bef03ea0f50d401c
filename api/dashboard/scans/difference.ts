/** The difference of a scan to the last one of the same address, with the root causes of what is new and fixed. Pure. */
import { differencePath } from '../../../core/web-paths.ts';
import type { Caveat } from '../../../report/diff/diff.ts';
import type { ComparedCauses, ComparedReports } from '../../../report/diff/summary.ts';
import type { CauseChange } from '../../../report/schema/root-cause.ts';
import type { Comparison } from '../../../report/workers/comparisons.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { figure, foldedCard, link, notice, severityBadge, dateAndTime } from '../../web/components.ts';
import { attributes, html, type Html } from '../../../report/html/html.ts';
import { count, elementForms, number, shown, siteLink } from './words.ts';
import { ruleText } from '../../../report/rule-texts/rule-texts.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { forms, m, t, tr } from '../../web/texts.ts';

/** Null: there is no earlier scan. */
export type Difference = { previous: ScanRow; compared: Comparison } | null;

const part = (body: Html, load: string | null = null): Html =>
  html`<div${attributes({ id: 'difference', 'data-load': load })}>${body}</div>`;

/** What the page of a scan has, closed: the script replaces it by the difference. */
export function differenceLater({ id, outcome }: ScanRow): Html {
  const text = outcome?.baseline?.scanId === undefined ? t`Compare with the last scan of this address` : t`Compare with the baseline`;
  const body = part(html`<p>${link(text, differencePath(id))}</p>`, differencePath(id));
  return foldedCard({ id: 'compared', title: titleOf(outcome), body });
}

const titleOf = (outcome: ScanRow['outcome']): string =>
  outcome?.baseline?.scanId === undefined ? t`Difference to the last scan` : t`Difference to the baseline`;

export const differenceSection = (row: ScanRow, difference: Difference): Html =>
  html`<section class="card" aria-labelledby="difference-title">
    <h2 id="difference-title">${titleOf(row.outcome)}</h2>
    ${differenceBody(row, difference)}
  </section>`;

function differenceBody({ id }: ScanRow, difference: Difference): Html {
  if (difference === null) return part(html`<p>${t`There is no earlier scan of this address with the same options that is done.`}</p>`);
  const { previous, compared } = difference;
  const to = html`<p>${t`Compared with ${link(t`the scan of ${dateAndTime(previous.createdAt)}`, `/dashboard/scans/${previous.id}`)}.`}</p>`;
  if (compared.ok) return part(html`${to} ${numbers(compared)} ${caveats(compared)} ${changedCauses(compared.causes)}`);
  const again = html` ${link(t`Try again`, differencePath(id))}.`;
  return part(html`${to} ${notice({ kind: 'warn', body: html`${reasonOf(compared)}${RETRIES.has(compared.reason) && again}` })}`);
}

type Refusal = Extract<Comparison, { ok: false }>;
type Reason = Refusal['reason'];

const reasonOf = (refusal: Refusal): string => tr(refusal.reason === 'busy' ? BUSY[refusal.limit] : REASONS[refusal.reason]);

const BUSY: Readonly<Record<Extract<Refusal, { reason: 'busy' }>['limit'], string>> = {
  key: m`The scans cannot be compared at the moment: two other comparisons of your organisation are in progress.`,
  total: m`The scans cannot be compared at the moment: too many comparisons of all organisations are in progress.`,
};
const REASONS: Readonly<Record<Exclude<Reason, 'busy'>, string>> = {
  not_found: m`The scans cannot be compared: the JSON export of one of them is not stored any more.`,
  not_comparable: m`The scans cannot be compared here: a JSON export is too large, or was made by another version. Download both exports, and run curbcut diff.`,
  unavailable: m`The scans cannot be compared at the moment.`,
};
const RETRIES: ReadonlySet<Reason> = new Set(['unavailable', 'busy']);

function numbers({ new: added, newKnown, fixed, unchanged, onNewPages, onNewStates = 0, notTested }: ComparedReports): Html {
  return html`<div class="columns">
      ${figure({ value: number(added), label: t`new violations`, kind: added > 0 ? 'bad' : 'good' })}
      ${figure({ value: number(fixed), label: t`fixed violations`, kind: fixed > 0 ? 'good' : undefined })}
      ${figure({ value: number(unchanged), label: t`unchanged violations` })}
    </div>
    ${newKnown > 0 && html`<p>${t`${newKnown} of the new violations are known issues.`}</p>`}
    ${onNewPages > 0 && html`<p>${t`${onNewPages} of the new violations are on pages that the earlier scan did not test.`}</p>`}
    ${onNewStates > 0 && html`<p>${t`${onNewStates} of them are in states that the earlier scan did not count.`}</p>`}
    ${notTested > 0 && html`<p>${t`${notTested} violations of the earlier scan are on pages that this scan did not test: it is unknown whether they are fixed.`}</p>`}`;
}

const CAVEATS: Readonly<Record<Caveat['reason'], string>> = {
  decisions: m`Faults that people confirmed between the scans: they are neither new nor fixed.`,
  site: m`The scans begin at different addresses.`,
  wcag: m`The scans test different WCAG versions or levels.`,
  pages: m`The scans may test different numbers of pages.`,
  crawl: m`The scans choose their pages by different rules.`,
  locale: m`The scans describe their findings in different languages.`,
  axe_core: m`The scans were made with different versions of axe-core, whose rules may differ.`,
  score_version: m`The scans were made with different checks of Curbcut, which may find more than earlier ones.`,
  fingerprint_version: m`The scans hold different evidence of elements, so that elements that changed place are matched less surely.`,
  elements_left_out: m`A report leaves out root causes of pages with very many violations. Their elements are missing here.`,
  partial_report: m`A scan was canceled before all pages were tested. What is on the missing pages is unknown.`,
};

function caveats({ caveats: reasons }: ComparedReports): Html | false {
  return (
    reasons.length > 0 &&
    notice({
      kind: 'warn',
      title: t`Parts of the difference may not come from the site`,
      body: html`<ul>
        ${reasons.map((reason) => html`<li>${tr(CAVEATS[reason])}</li>`)}
      </ul>`,
    })
  );
}

/** More causes are in a list that opens. */
const SHOWN_AT_ONCE = 5;

interface Kind {
  id: 'new' | 'fixed';
  title: string;
  /** What is said of a cause that the other scan has on other elements. */
  inBoth: string;
}

const NEW: Kind = { id: 'new', title: m`New violations by root cause`, inBoth: m`The earlier scan found this cause on other elements.` };
const FIXED: Kind = { id: 'fixed', title: m`Fixed violations by root cause`, inBoth: m`This cause remains on other elements.` };

function changedCauses(causes: ComparedCauses): Html {
  return html`${changed(NEW, causes.new, causes.newTotal)} ${changed(FIXED, causes.fixed, causes.fixedTotal)}`;
}

const MORE_CAUSES = forms('Show {n} root cause more', 'Show {n} root causes more');
const MORE_ELEMENTS = forms('and {n} element more', 'and {n} elements more');
const FIRST_CAUSES = forms(
  'The first {listed} of {n} root cause are shown. Run curbcut diff with both JSON exports to see all of them.',
  'The first {listed} of {n} root causes are shown. Run curbcut diff with both JSON exports to see all of them.',
);

function changed(kind: Kind, listed: readonly CauseChange[], total: number): Html | false {
  if (listed.length === 0) return false;
  const more = listed.slice(SHOWN_AT_ONCE);
  return html`<h3 id="${kind.id}-causes-title">${tr(kind.title)}</h3>
    ${list(kind, listed.slice(0, SHOWN_AT_ONCE))}
    ${
      more.length > 0 &&
      html`<details id="${kind.id}-causes-more">
        <summary>${count(MORE_CAUSES, more.length)}</summary>
        ${list(kind, more)}
      </details>`
    }
    ${listed.length < total && html`<p>${count(FIRST_CAUSES, total, { listed: listed.length })}</p>`}`;
}

const list = (kind: Kind, causes: readonly CauseChange[]): Html =>
  html`<ul class="changes">
    ${causes.map((one) => change(kind, one))}
  </ul>`;

function change({ inBoth }: Kind, cause: CauseChange): Html {
  const { rule, impact, help, elements, pages, examples } = cause;
  const { onPages } = wordsIn(currentLocale(), 'report').texts;
  return html`<li>
    <h4>${shown(ruleText(rule, currentLocale())?.help ?? help)}</h4>
    <p class="cause-facts">
      ${severityBadge(impact)} <span>${count(elementForms(), elements)} ${count(onPages, pages)}</span> <code>${shown(rule, 100)}</code>
    </p>
    ${cause.in_both && html`<p class="soft">${tr(inBoth)}</p>`}
    <ul class="examples">
      ${examples.map(({ page, selector }) => html`<li>${t`${html`<code class="address">${shown(selector)}</code>`} on ${siteLink(page)}`}</li>`)}
      ${examples.length < elements && html`<li class="soft">${count(MORE_ELEMENTS, elements - examples.length)}</li>`}
    </ul>
  </li>`;
}
