/** Root causes of violations, and of elements that need review: what fails where, why it matters, and how to fix it. Pure. */
import { IMPACTS, type Impact } from '../../../core/scan/impacts.ts';
import type { RuleText } from '../../../core/report/rule-texts/rule-texts.ts';
import type { ViewGroup } from '../../../core/report/view-schema.ts';
import { code, externalLink, severityBadge, tabs } from '../../web/components/index.ts';
import { attributes, html, NOTHING, type Html } from '../../web/html.ts';
import { CAUSES, count, ELEMENTS, number, pagesText, shown, siteLink } from './scan-words.ts';

export interface CausesData {
  scanId: string;
  groups: readonly ViewGroup[];
  /** All groups of the scan, of which the view may hold fewer. */
  total: number;
  /** Only this severity. Null: every one. */
  severity: Impact | null;
  ruleText(group: ViewGroup): RuleText;
}

export function severityOf(value: unknown): Impact | null {
  return IMPACTS.find((impact) => impact === value) ?? null;
}

export function rootCauses(data: CausesData): Html {
  const { groups, severity, total } = data;
  const listed = severity === null ? groups : groups.filter(({ impact }) => impact === severity);
  return html`<section class="card" id="causes" aria-labelledby="causes-title">
    <h2 id="causes-title">Root causes</h2>
    <p>One fault in a template appears on every page. Violations with the same cause are listed once, the worst first.</p>
    ${groups.length > 0 && severityTabs(data)}
    ${groups.length === 0 && html`<p>No violation was found.</p>`}
    ${listed.map((group, at) => cause(group, data.ruleText(group), `cause-${at + 1}`))}
    ${groups.length < total && html`<p>The first ${number(groups.length)} of ${count(CAUSES, total)} are shown. The JSON export has all of them.</p>`}
  </section>`;
}

function severityTabs({ scanId, groups, severity }: CausesData): Html {
  const of = (impact: Impact): number => groups.filter((group) => group.impact === impact).length;
  const href = (impact: Impact | null): string => `/dashboard/scans/${scanId}${impact === null ? '' : `?severity=${impact}`}#causes`;
  const present = IMPACTS.filter((impact) => of(impact) > 0);
  return tabs('Severity', [
    { text: `All (${number(groups.length)})`, href: href(null), current: severity === null },
    ...present.map((impact) => ({
      text: `${capitalised(impact)} (${number(of(impact))})`,
      href: href(impact),
      current: severity === impact,
    })),
  ]);
}

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

export function needsReview(data: Omit<CausesData, 'severity' | 'scanId'> & { elements: number }): Html {
  const { groups, elements, total } = data;
  if (groups.length === 0) return NOTHING;
  return html`<section class="card" id="needs-review" aria-labelledby="review-title">
    <h2 id="review-title">Needs review</h2>
    <p>
      The test could not decide about ${count(ELEMENTS, elements)}. Check each one yourself. They are not violations and do not change the score.
    </p>
    <details id="review-list">
      <summary>Show ${count(CAUSES, groups.length)}${groups.length < total && html` of ${number(total)}`}</summary>
      ${groups.map((group, at) => cause(group, data.ruleText(group), `review-${at + 1}`))}
    </details>
  </section>`;
}

function cause(group: ViewGroup, text: RuleText, id: string): Html {
  const { impact, wcag, pages, elements, help_url, page_urls, rule } = group;
  return html`<article class="cause" id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${shown(text.help)}</h3>
    <p class="cause-facts">
      ${severityBadge(impact)} <span>${count(ELEMENTS, elements)} on ${pagesText(pages)}</span>
      <span class="soft">${criteria(wcag)}</span> <code>${shown(rule, 100)}</code>
    </p>
    ${text.why !== '' && html`<p><strong>Why it matters:</strong> ${text.why}</p>`}
    ${text.fix !== '' ? html`<p><strong>How to fix it:</strong> ${text.fix}</p>` : html`<p>${shown(text.description)}</p>`}
    ${element(group, id)} ${affectedPages(page_urls, pages, id)}
    ${/^https:\/\//.test(help_url) && html`<p>${externalLink(html`More about ${shown(rule, 100)}`, help_url)}</p>`}
  </article>`;
}

const criteria = (wcag: readonly string[]): string => (wcag.length === 0 ? '' : `WCAG ${wcag.slice(0, 10).join(', ')}`);

const HTML_SHOWN_MAX = 2_000;
const SELECTOR_SHOWN_MAX = 1_000;

function element({ example: { html: markup, selector, frame_path, shadow_path } }: ViewGroup, id: string): Html {
  const path = [...frame_path, ...shadow_path, selector].join(' >>> ');
  return html`${code({ id: `${id}-html`, label: 'the HTML of the element', text: shown(markup, HTML_SHOWN_MAX), copy: false })}
  ${code({ id: `${id}-selector`, label: 'the selector of the element', text: shown(path, SELECTOR_SHOWN_MAX), inline: true })}`;
}

function affectedPages(urls: readonly string[], pages: number, id: string): Html {
  if (urls.length === 0) return NOTHING;
  if (urls.length === 1) return html`<p>Found on ${siteLink(urls[0]!)}</p>`;
  return html`<details${attributes({ id: `${id}-pages` })}>
    <summary>${pagesText(pages)} affected</summary>
    <ul>
      ${urls.map((url) => html`<li>${siteLink(url)}</li>`)}
      ${urls.length < pages && html`<li>and ${pagesText(pages - urls.length)} more</li>`}
    </ul>
  </details>`;
}
