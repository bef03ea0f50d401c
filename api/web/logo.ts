/** The mark: a kerb with a ramp down to the street, and the yellow domes that people feel with their feet. */
import { html, type Html } from './html.ts';

export const logo: Html = html`<svg class="logo" viewBox="0 0 40 32" width="40" height="32" aria-hidden="true" focusable="false">
  <path class="logo-kerb" d="M0 6h15l16 16h9v8H0z" />
  <circle class="logo-dome" cx="12" cy="13" r="2.5" />
  <circle class="logo-dome" cx="18" cy="19" r="2.5" />
  <circle class="logo-dome" cx="24" cy="25" r="2.5" />
  <circle class="logo-dome" cx="8.5" cy="20" r="2.5" />
  <circle class="logo-dome" cx="14.5" cy="26" r="2.5" />
</svg>`;
