/** Root causes of violations, and of elements that need review: what fails where, why it matters, and how to fix it. Pure. */
import { knownMark } from '../../../report/view/known.ts';
import { causeTexts, type CauseText } from '../../../report/view/cause-texts.ts';
import { IMPACTS, type Impact } from '../../../core/scan/impacts.ts';
import { elementPath } from '../../../report/view/element-path.ts';
import { standardsText } from '../../../report/rules/standards.ts';
import type { ReportView, ViewGroup } from '../../../report/view/schema.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { pictureName } from '../../scans/element-pictures.ts';
import { badge, code, elementPicture, externalLink, link, severityBadge, tabs } from '../../web/components/index.ts';
import { attributes, html, NOTHING, type Html } from '../../web/html.ts';
import { acceptLink } from '../known-issues/accept-link.ts';
import { CAUSES, count, ELEMENTS, number, pagesText, shown, siteLink } from './scan-words.ts';

export interface CausesData {
  scanId: string;
  groups: readonly ViewGroup[];
  leading: ReportView['leading'];
  /** All groups of the scan, of which the view may hold fewer. */
  total: number;
  /** Only this severity. Null: every one. */
  severity: Impact | null;
  /** Whether the person may accept known issues. */
  mayAccept?: boolean;
}

export function severityOf(value: unknown): Impact | null {
  return IMPACTS.find((impact) => impact === value) ?? null;
}

export function rootCauses(data: CausesData): Html {
  const { groups, severity, total } = data;
  const texts = causeTexts(groups, 'en');
  const listed = severity === null ? groups : groups.filter(({ impact }) => impact === severity);
  return html`<section class="card" id="causes" aria-labelledby="causes-title">
    <h2 id="causes-title">Root causes</h2>
    <p>One fault in a template appears on every page. Violations with the same cause are listed once, ${groups.some(({ new_elements: added = 0 }) => added > 0) ? 'those that the baseline does not have first, then ' : ''}the worst first.</p>
    ${total > data.leading.causes.length && leadingCauses(data, listed, texts)} ${groups.length > 0 && severityTabs(data)}
    ${groups.length === 0 && html`<p>No violation was found.</p>`}
    ${listed.map((group, at) => cause(group, texts.get(group)!, data.scanId, `cause-${at + 1}`, data.mayAccept))}
    ${groups.length < total && html`<p>The first ${number(groups.length)} of ${count(CAUSES, total)} are shown. The JSON export has all of them.</p>`}
  </section>`;
}

/** What to fix first. A cause that is shown below is a link to it. */
function leadingCauses(
  { leading: { causes, percent }, groups }: CausesData,
  listed: readonly ViewGroup[],
  texts: ReadonlyMap<ViewGroup, CauseText>,
): Html {
  const item = ({ fingerprint, help, elements }: ReportView['leading']['causes'][number]): Html => {
    const group = groups.find((one) => one.fingerprint === fingerprint);
    const at = listed.findIndex((one) => one.fingerprint === fingerprint);
    const known = group && texts.get(group);
    const text = html`${shown(known?.title ?? help)}${elementName(known?.element)}`;
    return html`<li>${at === -1 ? text : link(text, `#cause-${at + 1}`)} (${count(ELEMENTS, elements)})</li>`;
  };
  return html`<p><strong>${count(LEADING, causes.length, { percent: `${number(percent)} %` })}</strong></p>
    <ol id="leading-causes">
      ${causes.map(item)}
    </ol>`;
}

const LEADING = {
  one: 'Fixing this cause removes {percent} of the violations:',
  other: 'Fixing these {n} causes removes {percent} of the violations:',
};

function severityTabs({ scanId, groups, severity }: CausesData): Html {
  const of = (impact: Impact): number => groups.filter((group) => group.impact === impact).length;
  const href = (impact: Impact | null): string => `/dashboard/scans/${scanId}${impact === null ? '' : `?severity=${impact}`}#causes`;
  const present = IMPACTS.filter((impact) => of(impact) > 0);
  return tabs('Severity', [
    { text: `All (${number(groups.length)})`, href: href(null), current: severity === null },
    ...present.map((impact) => ({
      text: `${wordsIn('en', 'report').texts.severities[impact]} (${number(of(impact))})`,
      href: href(impact),
      current: severity === impact,
    })),
  ]);
}

type FoldedData = Omit<CausesData, 'severity' | 'leading' | 'mayAccept'> & { elements: number };

export const needsReview = (data: FoldedData): Html =>
  folded(data, {
    name: 'review',
    id: 'needs-review',
    title: 'Needs review',
    intro: `The test could not decide about ${count(ELEMENTS, data.elements)}. Check each one yourself. They are not violations and do not change the score.`,
  });

export const advice = (data: FoldedData): Html =>
  folded(data, {
    name: 'advice',
    id: 'advice',
    title: 'Advice',
    intro: `Best practices that WCAG does not require, for ${count(ELEMENTS, data.elements)}. They are not violations and do not change the score.`,
  });

/** Root causes that are shown on request. */
function folded(data: FoldedData, { name, id, title, intro }: Readonly<Record<'name' | 'id' | 'title' | 'intro', string>>): Html {
  const { groups, total } = data;
  if (groups.length === 0) return NOTHING;
  const texts = causeTexts(groups, 'en');
  return html`<section class="card" id="${id}" aria-labelledby="${name}-title">
    <h2 id="${name}-title">${title}</h2>
    <p>${intro}</p>
    <details id="${name}-list">
      <summary>Show ${count(CAUSES, groups.length)}${groups.length < total && html` of ${number(total)}`}</summary>
      ${groups.map((group, at) => cause(group, texts.get(group)!, data.scanId, `${name}-${at + 1}`))}
    </details>
  </section>`;
}

/** The address of a picture of a scan. */
export const picturePath = (scanId: string, name: string): string => `/dashboard/scans/${scanId}/pictures/${name}`;

const elementName = (name: string | undefined): Html => (name === undefined ? NOTHING : html` <code>${shown(name)}</code>`);

function cause(group: ViewGroup, { title, element: name, why, fix }: CauseText, scanId: string, id: string, mayAccept = false): Html {
  const { impact, pages, elements, help_url, page_urls, rule, picture, fingerprint, new_elements: added = 0 } = group;
  const help = shown(title);
  return html`<article class="cause" id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${help}${elementName(name)}</h3>
    <p class="cause-facts">
      ${added > 0 && badge('bad', added === elements ? 'New' : `${number(added)} new`)} ${severityBadge(impact)} <span>${count(ELEMENTS, elements)} on ${pagesText(pages)}</span>
      <span class="soft">${standardsText(group.wcag, group.standards, 'en').join(' · ')}</span> <code>${shown(rule, 100)}</code>
    </p>
    ${knownMarks(group)} ${mayAccept && acceptLink(scanId, group, [title, name].join(' '))}
    ${why !== '' && html`<p><strong>Why it matters:</strong> ${why}</p>`}
    ${fix !== '' ? html`<p><strong>How to fix it:</strong> ${fix}</p>` : html`<p>${shown(group.description)}</p>`}
    ${picture !== undefined && elementPicture({ src: picturePath(scanId, pictureName(fingerprint)), alt: `Picture of the page: the element to which this applies is outlined. ${help}`, picture })}
    ${element(group, id)} ${related(group, id)} ${affectedPages(page_urls, pages, id)}
    ${/^https:\/\//.test(help_url) && html`<p>${externalLink(html`More about ${shown(rule, 100)}`, help_url)}</p>`}
  </article>`;
}

/** Why elements of the cause are accepted, by whom and until when. */
const knownMarks = ({ known = [] }: ViewGroup): Html[] => known.map((mark) => html`<p>${knownMark(mark, wordsIn('en', 'report'))}</p>`);

const HTML_SHOWN_MAX = 2_000;
const SELECTOR_SHOWN_MAX = 1_000;

function element({ example }: ViewGroup, id: string): Html {
  const { html: markup, contrast } = example;
  return html`${code({ id: `${id}-html`, label: 'the HTML of the element', text: shown(markup, HTML_SHOWN_MAX), copy: false })}
  ${code({ id: `${id}-selector`, label: 'the selector of the element', text: shown(elementPath(example), SELECTOR_SHOWN_MAX), inline: true })}
  ${contrast !== undefined && html`<p>${contrastText(contrast)}</p>`}`;
}

/** Ratios are not rounded: 4.48 misses 4.5. */
function contrastText({
  foreground,
  background,
  ratio,
  required,
  font_size_px,
  bold,
}: NonNullable<ViewGroup['example']['contrast']>): string {
  const size = font_size_px === undefined ? '' : `, ${number(font_size_px)} px${bold ? ' bold' : ''}`;
  return `Contrast ${ratio}:1, required ${required}:1 (${foreground} on ${background}${size})`;
}

/** The other elements that explain the finding. */
function related({ example }: ViewGroup, id: string): Html {
  const others = example.related ?? [];
  if (others.length === 0) return NOTHING;
  return html`<details${attributes({ id: `${id}-related` })}>
    <summary>${count(RELATED, others.length)}</summary>
    <ul>
      ${others.map((other) => html`<li><code>${shown(other.selector)}</code><br /><code>${shown(other.html)}</code></li>`)}
    </ul>
  </details>`;
}

const RELATED = { one: '{n} related element', other: '{n} related elements' };

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
