/** A root cause as a line that opens: what fails where, why it matters, and how to fix it. Pure. */
import { knownMark } from '../../../report/view/sentences.ts';
import { elementPath } from '../../../report/schema/page.ts';
import type { RootCause } from '../../../report/schema/root-cause.ts';
import { standardsText } from '../../../report/rules/success-criteria.ts';
import { ruleText } from '../../../report/rule-texts/rule-texts.ts';
import { standardsInReports } from '../../../report/rules/rules.ts';
import { type CauseLine, type ReportView, ruleOf } from '../../../report/view/schema.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { pictureName } from '../../scans/scan-views.ts';
import { badge, code, contrast, elementPicture, externalLink, link, severityBadge, visuallyHidden } from '../../web/components.ts';
import { attributes, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { count, ELEMENTS, number, pagesText, shown, siteLink } from '../scans/words.ts';
import { KNOWN_ISSUES_PATH } from '../../../core/web-paths.ts';
import type { ShownCause } from './select.ts';

/** The address of a picture of a scan. */
export const picturePath = (scanId: string, name: string): string => `/dashboard/scans/${scanId}/pictures/${name}`;

/** What the rule of a cause asks for, in English if this version knows the rule. */
export const titleOf = (view: Pick<ReportView, 'cause_rules'>, rule: string): string =>
  shown(ruleText(rule, 'en')?.help ?? ruleOf(view, rule).help);

export interface CauseOptions {
  scanId: string;
  view: Pick<ReportView, 'cause_rules' | 'pictures'>;
  open: boolean;
  mayAccept: boolean;
}

/** One line, which opens without scripts. */
export function causeItem(cause: ShownCause, options: CauseOptions): Html {
  const { fingerprint, rule, impact, element, elements, pages } = cause.line;
  return html`<li class="cause" id="cause-${fingerprint}">
    <details${attributes({ open: options.open })}>
      <summary>
        <h3>${severityBadge(impact)} ${titleOf(options.view, rule)} <code>${shown(element, 100)}</code></h3>
        <span class="cause-facts"><span>${count(ELEMENTS, elements)} on ${pagesText(pages)}</span>${newBadge(cause.line)}${knownBadge(cause.line)}</span>
      </summary>
      <div class="cause-body">${body(cause, options)}</div>
    </details>
  </li>`;
}

export const newBadge = ({ new_elements: added = 0, elements }: CauseLine): Html | false =>
  added > 0 && badge('bad', added === elements ? 'New' : `${number(added)} new`);
export const knownBadge = ({ known_elements: known = 0, elements }: CauseLine): Html | false =>
  known > 0 && badge('plain', known === elements ? 'Known issue' : `${number(known)} known`);

function body({ line, cause }: ShownCause, { scanId, view, mayAccept }: CauseOptions): Html {
  if (cause === null) return html`<p>The details could not be read. Reload the page in a moment.</p>`;
  const { rule, fingerprint, example } = cause;
  const { why = '', fix = '' } = ruleText(rule, 'en') ?? {};
  const title = titleOf(view, rule);
  const picture = view.pictures.find((one) => one.fingerprint === fingerprint);
  const id = `cause-${fingerprint}`;
  const markup = code({ id: `${id}-html`, label: 'the HTML of the element', text: shown(example.html, HTML_SHOWN_MAX), copy: false });
  return html`${knownMarks(cause)}
    ${fix !== '' ? html`<p><strong>How to fix it:</strong> ${fix}</p>` : html`<p>${shown(ruleOf(view, rule).description)}</p>`}
    ${example.contrast !== undefined && contrast(example.contrast)}
    ${picture === undefined ? markup : elementPicture({ src: picturePath(scanId, pictureName(fingerprint)), alt: `Picture of the page: the element to which this applies is outlined. ${title}`, picture })}
    ${mayAccept && acceptLink(scanId, cause, `${title} ${line.element}`)}
    <details>
      <summary>More about this cause</summary>
      ${picture !== undefined && markup} ${more(cause, { id, why })}
    </details>`;
}

/** Why elements of the cause are accepted, by whom and until when. */
const knownMarks = ({ known = [] }: RootCause): Html[] => known.map((mark) => html`<p>${knownMark(mark, wordsIn('en', 'report'))}</p>`);

const HTML_SHOWN_MAX = 1_000;
const SELECTOR_SHOWN_MAX = 1_000;

function more(cause: RootCause, { id, why }: { id: string; why: string }): Html {
  const { example, rule, wcag, help_url, page_urls, pages } = cause;
  return html`${why !== '' && html`<p><strong>Why it matters:</strong> ${why}</p>`}
    ${code({ id: `${id}-selector`, label: 'the selector of the element', text: shown(elementPath(example), SELECTOR_SHOWN_MAX), inline: true })}
    <p class="soft">${standardsText(wcag, standardsInReports(rule), 'en').join(' · ')} <code>${shown(rule, 100)}</code></p>
    ${related(cause)} ${affectedPages(page_urls, pages)}
    ${/^https:\/\//.test(help_url) && html`<p>${externalLink(html`More about ${shown(rule, 100)}`, help_url)}</p>`}`;
}

/** The other elements that explain the finding. */
function related({ example: { related: others = [] } }: RootCause): Html {
  if (others.length === 0) return NOTHING;
  return html`<p>${count(RELATED, others.length)}:</p>
    <ul>
      ${others.map((other) => html`<li><code>${shown(other.selector)}</code><br /><code>${shown(other.html)}</code></li>`)}
    </ul>`;
}

const RELATED = { one: '{n} related element', other: '{n} related elements' };

function affectedPages(urls: readonly string[], pages: number): Html {
  if (urls.length === 0) return NOTHING;
  if (urls.length === 1) return html`<p>Found on ${siteLink(urls[0]!)}</p>`;
  return html`<p>${pagesText(pages)} affected:</p>
    <ul>
      ${urls.map((url) => html`<li>${siteLink(url)}</li>`)}
      ${urls.length < pages && html`<li>and ${pagesText(pages - urls.length)} more</li>`}
    </ul>`;
}

/** The page that accepts a root cause of a scan. */
const acceptPath = (scanId: string, fingerprint: string): string =>
  `${KNOWN_ISSUES_PATH}/new?${new URLSearchParams({ scan: scanId, cause: fingerprint })}`;

/** @param title what the page calls the cause, so that screen readers tell the links apart */
function acceptLink(scanId: string, { fingerprint, elements, known_elements = 0 }: RootCause, title: string): Html {
  if (known_elements >= elements) return NOTHING;
  const text = html`Accept as known ${visuallyHidden(title)}`;
  return html`<p>${link(text, acceptPath(scanId, fingerprint))}</p>`;
}
