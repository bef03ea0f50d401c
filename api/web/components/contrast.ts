/** A measured contrast with its colours. */
import type { Locale } from '../../../core/scan/locales.ts';
import type { ReportNode } from '../../../report/schema/schema.ts';
import { contrastText, isDrawable } from '../../../report/view/contrast.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { html, type Html } from '../html.ts';
import { DEFAULT_LOCALE } from '../languages.ts';

/** The ratio, the required one, and both colours, each drawn beside its name. The drawings have no names of their own. */
export function contrast(measured: NonNullable<ReportNode['contrast']>, locale: Locale = DEFAULT_LOCALE): Html {
  const { ratio, colors, size } = contrastText(measured, wordsIn(locale, 'report'));
  return html`<ul class="contrast">
    <li><strong>${ratio}</strong></li>
    ${colors.map(({ name, color }) => html`<li>${isDrawable(color) && swatch(color)}${name}</li>`)}
    ${size !== undefined && html`<li>${size}</li>`}
  </ul>`;
}

/** A drawing, because its colour is an attribute: the pages allow no styles in their HTML. */
const swatch = (color: string): Html =>
  html`<svg class="contrast-color" viewBox="0 0 18 18" width="18" height="18" aria-hidden="true" focusable="false">
    <rect width="18" height="18" fill="${color}" />
  </svg>`;
