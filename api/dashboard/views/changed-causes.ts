/** The root causes of new and of fixed violations, in the difference of two scans. Pure. */
import type { ComparedCause, ComparedCauses } from '../../../report/diff/summary.ts';
import { ruleText } from '../../../report/rule-texts/rule-texts.ts';
import { severityBadge } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { CAUSES, count, ELEMENTS, number, pagesText, shown, siteLink } from './scan-words.ts';

/** More causes are in a list that opens. */
const SHOWN_AT_ONCE = 5;

interface Kind {
  id: 'new' | 'fixed';
  title: string;
  /** What is said of a cause that the other scan has on other elements. */
  inBoth: string;
}

const NEW: Kind = { id: 'new', title: 'New violations', inBoth: 'The earlier scan found this cause on other elements.' };
const FIXED: Kind = { id: 'fixed', title: 'Fixed violations', inBoth: 'This cause remains on other elements.' };

export function changedCauses(causes: ComparedCauses): Html {
  return html`${changed(NEW, causes.new, causes.newTotal)} ${changed(FIXED, causes.fixed, causes.fixedTotal)}`;
}

function changed(kind: Kind, listed: readonly ComparedCause[], total: number): Html | false {
  if (listed.length === 0) return false;
  const more = listed.slice(SHOWN_AT_ONCE);
  return html`<h3 id="${kind.id}-causes-title">${kind.title} by root cause</h3>
    ${list(kind, listed.slice(0, SHOWN_AT_ONCE))}
    ${
      more.length > 0 &&
      html`<details id="${kind.id}-causes-more">
        <summary>Show ${count(CAUSES, more.length)} more</summary>
        ${list(kind, more)}
      </details>`
    }
    ${listed.length < total && html`<p>The first ${number(listed.length)} of ${count(CAUSES, total)} are shown. Run curbcut diff with both JSON exports to see all of them.</p>`}`;
}

const list = (kind: Kind, causes: readonly ComparedCause[]): Html =>
  html`<ul class="changes">
    ${causes.map((one) => change(kind, one))}
  </ul>`;

function change({ inBoth }: Kind, cause: ComparedCause): Html {
  const { rule, impact, help, elements, pages, examples } = cause;
  return html`<li>
    <h4>${shown(ruleText(rule, 'en')?.help ?? help)}</h4>
    <p class="cause-facts">
      ${severityBadge(impact)} <span>${count(ELEMENTS, elements)} on ${pagesText(pages)}</span> <code>${shown(rule, 100)}</code>
    </p>
    ${cause.inBoth && html`<p class="soft">${inBoth}</p>`}
    <ul class="examples">
      ${examples.map(({ page, selector }) => html`<li><code class="address">${shown(selector)}</code> on ${siteLink(page)}</li>`)}
      ${examples.length < elements && html`<li class="soft">and ${count(ELEMENTS, elements - examples.length)} more</li>`}
    </ul>
  </li>`;
}
