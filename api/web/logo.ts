/** The mark: a kerb with a ramp down to the street, and the yellow domes that people feel with their feet. */
import { html, type Html } from './html.ts';

export const logo: Html = html`<svg class="logo" viewBox="0 0 40 32" width="40" height="32" aria-hidden="true" focusable="false">
  <path class="logo-kerb" d="M0 6h15l16 16h9v8H0z" />
  <circle class="logo-dome" cx="20.2" cy="8.2" r="2.6" /><circle class="logo-dome" cx="25" cy="13" r="2.6" />
  <circle class="logo-dome" cx="29.8" cy="17.8" r="2.6" />
</svg>`;
