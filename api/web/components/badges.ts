/** Badges: a word with a shape and a colour. The word alone says everything. */
import { IMPACTS, type Impact } from '../../../core/scan/impacts.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { DEFAULT_LOCALE } from '../languages.ts';

export type BadgeKind = 'good' | 'bad' | 'warn' | 'note' | 'plain';

export const badge = (kind: BadgeKind, text: HtmlValue): Html => html`<span class="badge badge-${kind}">${text}</span>`;

/** A shape for each severity: octagon, triangle, diamond, circle. */
const SHAPES: Readonly<Record<Impact, Html>> = {
  critical: html`<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" />`,
  serious: html`<path d="M8 1.5 15.5 15H.5z" />`,
  moderate: html`<path d="M8 .5 15.5 8 8 15.5.5 8z" />`,
  minor: html`<circle cx="8" cy="8" r="6.5" />`,
};

/** The shape of a severity, without a name: write its word beside it. */
export const severityIcon = (impact: Impact): Html =>
  html`<svg class="severity-icon severity-${impact}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
    ${SHAPES[impact]}
  </svg>`;

export const severityBadge = (impact: Impact, locale: Locale = DEFAULT_LOCALE): Html =>
  html`<span class="severity severity-${impact}">${severityIcon(impact)}${wordsIn(locale, 'report').texts.severities[impact]}</span>`;

/** The number of violations of each severity, worst first. */
export function severityCounts(counts: Readonly<Record<Impact, number>>, locale: Locale = DEFAULT_LOCALE): Html {
  const { number, texts } = wordsIn(locale, 'report');
  const items = IMPACTS.map(
    (impact) =>
      html`<div class="severity-count severity-${impact}">
        <dt>${severityIcon(impact)}${texts.severities[impact]}</dt>
        <dd>${number(counts[impact])}</dd>
      </div>`,
  );
  return html`<dl class="severity-counts">${items}</dl>`;
}
