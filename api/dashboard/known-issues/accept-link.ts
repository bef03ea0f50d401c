/** What the page of a scan offers at each root cause: accept it as a known issue. */
import { KNOWN_ISSUES_PATH } from '../../../core/web-paths.ts';
import type { ViewGroup } from '../../../report/view/schema.ts';
import { link, visuallyHidden } from '../../web/components/index.ts';
import { html, NOTHING, type Html } from '../../web/html.ts';

/** The page that accepts a root cause of a scan. */
export const acceptPath = (scanId: string, fingerprint: string): string =>
  `${KNOWN_ISSUES_PATH}/new?${new URLSearchParams({ scan: scanId, cause: fingerprint })}`;

/** @param title what the page calls the cause, so that screen readers tell the links apart */
export function acceptLink(scanId: string, { fingerprint, elements, known_elements = 0 }: ViewGroup, title: string): Html {
  if (known_elements >= elements) return NOTHING;
  const text = html`Accept as known ${visuallyHidden(title)}`;
  return html`<p>${link(text, acceptPath(scanId, fingerprint))}</p>`;
}
