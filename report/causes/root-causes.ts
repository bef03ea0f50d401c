/**
 * Root causes: violations of one rule on one component, over all pages. A component is identified by its normalised HTML and
 * the landmark that contains it.
 */
import { createHash } from 'node:crypto';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { normaliseHtml } from './normalise-html.ts';
import type { FindingList, ReportNode, ReportPage, ReportViolation } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';

/** The maximum number of pages that a group lists. The total is in `pages`. */
const PAGE_URLS_MAX = 100;

/** Elements whose content says which component they are: two buttons may differ only in their icon. */
const WITH_CONTENT = new Set(
  'a area audio button canvas embed iframe img input label meter object option output picture progress select summary svg textarea video'.split(
    ' ',
  ),
);
const ROLES_WITH_CONTENT = new Set(
  'button checkbox combobox gridcell img image link menuitem menuitemcheckbox menuitemradio meter option progressbar radio scrollbar searchbox slider spinbutton switch tab textbox treeitem'.split(
    ' ',
  ),
);

/**
 * The component that an element belongs to. Content counts only for controls, graphics and custom elements. In other elements
 * it is the text of the page: the paragraphs of one class are one component, with and without links in them.
 */
function componentOf(html: string): string {
  const { html: whole, element } = normaliseHtml(html);
  if (element === null) return whole;
  const { tag, role, startTag } = element;
  const countsContent =
    WITH_CONTENT.has(tag) || tag.includes('-') || (role !== null && ROLES_WITH_CONTENT.has(role.trim().split(/\s+/)[0]!.toLowerCase()));
  return countsContent ? whole : startTag;
}

/**
 * Identifies a root cause across scans: the first 16 hexadecimal digits of SHA-256 of rule, component, landmark and, for
 * contrast, colours.
 */
export function rootCauseFingerprint(rule: string, node: Pick<ReportNode, 'html' | 'landmark' | 'contrast'>): string {
  const { html, landmark, contrast } = node;
  const known = fingerprints.get(node);
  if (known?.rule === rule && known.html === html && known.landmark === landmark && known.contrast === contrast) return known.fingerprint;
  const colours = contrast === undefined ? '' : `${contrast.foreground} on ${contrast.background}`;
  const fingerprint = createHash('sha256')
    .update([rule, landmark ?? '', colours, componentOf(html)].join('\n'))
    .digest('hex')
    .slice(0, 16);
  fingerprints.set(node, { rule, html, landmark, contrast, fingerprint });
  return fingerprint;
}

/** The fingerprints of nodes, because nodes are capped, pictured and grouped by them. */
const fingerprints = new WeakMap<object, Pick<ReportNode, 'html' | 'landmark' | 'contrast'> & { rule: string; fingerprint: string }>();

interface Collected {
  violation: ReportViolation;
  example: ReportNode;
  impact: number;
  elements: number;
  pages: number;
  pageUrls: string[];
  lastPage: number;
}

function collect(pages: readonly ReportPage[], list: FindingList): Map<string, Collected> {
  const groups = new Map<string, Collected>();
  for (const [index, page] of pages.entries()) {
    if (!page.tested) continue;
    for (const violation of page[list]) {
      for (const node of violation.nodes) add(groups, violation, node, page.url, index);
      // Each has an example among the nodes; see `capNodes`.
      for (const { fingerprint, elements } of violation.nodes_beyond ?? []) {
        const group = groups.get(fingerprint);
        if (group !== undefined) group.elements += elements;
      }
    }
  }
  return groups;
}

function add(groups: Map<string, Collected>, violation: ReportViolation, example: ReportNode, url: string, page: number): void {
  const fingerprint = rootCauseFingerprint(violation.rule, example);
  const impact = IMPACTS.indexOf(violation.impact);
  let group = groups.get(fingerprint);
  if (group === undefined) {
    group = { violation, example, impact, elements: 0, pages: 0, pageUrls: [], lastPage: -1 };
    groups.set(fingerprint, group);
  }
  group.elements += 1;
  group.impact = Math.min(group.impact, impact);
  if (group.lastPage === page) return;
  group.lastPage = page;
  group.pages += 1;
  if (group.pageUrls.length < PAGE_URLS_MAX) group.pageUrls.push(url);
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/**
 * Groups the findings of all tested pages by root cause, worst first: by impact, then pages, then elements. Rule and fingerprint
 * come last, so that the order is the same in every run. The example is the first element in the scan's order.
 */
export function rootCausesOf(pages: readonly ReportPage[], list: FindingList): RootCause[] {
  return [...collect(pages, list)]
    .sort(
      ([a, left], [b, right]) =>
        left.impact - right.impact ||
        right.pages - left.pages ||
        right.elements - left.elements ||
        compare(left.violation.rule, right.violation.rule) ||
        compare(a, b),
    )
    .map(([fingerprint, { violation, impact, pages, elements, example, pageUrls }]) => ({
      fingerprint,
      rule: violation.rule,
      impact: IMPACTS[impact]!,
      wcag: violation.wcag,
      help: violation.help,
      help_url: violation.help_url,
      pages,
      elements,
      example,
      page_urls: pageUrls,
    }));
}
