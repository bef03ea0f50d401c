/**
 * Root causes: violations of one rule on one component, over all pages. A component is identified by its normalised HTML and
 * the landmark that contains it.
 */
import { createHash } from 'node:crypto';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { STATE_KINDS } from '../../core/scan/states.ts';
import { type About, type NormalisedHtml, normaliseHtml } from './normalise-html.ts';
import { type FindingList, type ReportNode, type ReportPage, type ReportViolation, testedPages } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';

/** The maximum number of pages that a root cause lists. The total is in `pages`. */
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

/** Rules about how an element looks: what it contains, and where it leads, are no other fault. */
const LOOKS_RULES = /^(color-contrast|target-size|link-in-text-block)/;
/** Rules about ARIA attributes. */
const ARIA_RULES = /^aria-.*attr|^aria-braille/;
/** Rules about the children of an element, and the children that are right in it. */
const CHILDREN_RULES: Readonly<Record<string, ReadonlySet<string>>> = {
  list: new Set(['li', 'script', 'template']),
  'definition-list': new Set(['dt', 'dd', 'div', 'script', 'template']),
  'aria-required-children': new Set(),
};

const aboutOf = (rule: string): About =>
  LOOKS_RULES.test(rule) ? 'looks' : ARIA_RULES.test(rule) ? 'aria' : rule === 'avoid-inline-spacing' ? 'spacing' : 'component';

/** What a fingerprint is made of. The others are only there in reports. */
type CauseNode = Pick<ReportNode, 'html' | 'landmark' | 'contrast'> & Partial<Pick<ReportNode, 'related' | 'failure_summary'>>;

/**
 * The component that an element belongs to. Content counts only for controls, graphics and custom elements. In other elements
 * it is the text of the page: the paragraphs of one class are one component, with and without links in them.
 */
function componentOf({ html: whole, element }: NormalisedHtml, about: About): string {
  if (element === null) return whole;
  const { tag, role, startTag } = element;
  const countsContent = WITH_CONTENT.has(tag) || tag.includes('-') || (role !== null && ROLES_WITH_CONTENT.has(role));
  return countsContent && about !== 'looks' ? whole : startTag;
}

/** What is wrong with the component, where a rule can object to several things: the attributes, the kinds of children, the colours. */
function faultOf(rule: string, { contrast, related = [], failure_summary: summary = '' }: CauseNode, { element }: NormalisedHtml): string {
  if (contrast !== undefined) return `${contrast.foreground} on ${contrast.background}`;
  // The names of attributes are the same in all languages.
  if (ARIA_RULES.test(rule)) return [...new Set(summary.match(/\baria-[a-z]+/g))].sort().join(' ');
  const right = CHILDREN_RULES[rule];
  if (right === undefined) return '';
  // The HTML of a long list is cut off, but the rule names its wrong children.
  const kinds = related.length > 0 ? related.map(({ html }) => normaliseHtml(html).element?.kind ?? '') : [...(element?.children ?? [])];
  const wrong = new Set(kinds.filter((kind) => !right.has(kind)));
  return [...wrong].sort().join(', ');
}

/** Identifies a root cause across scans: the first 16 hexadecimal digits of SHA-256 of rule, landmark, fault and component. */
export function rootCauseFingerprint(rule: string, node: CauseNode): string {
  const known = fingerprints.get(node);
  if (known !== undefined && KEYS.every((key) => known[key] === node[key]) && known.rule === rule) return known.fingerprint;
  const about = aboutOf(rule);
  const normalised = normaliseHtml(node.html, about);
  const fault = faultOf(rule, node, normalised);
  // If the rule names the attributes, the others are no part of the fault.
  const component = componentOf(about === 'aria' && fault !== '' ? normaliseHtml(node.html) : normalised, about);
  const fingerprint = createHash('sha256')
    .update([rule, node.landmark ?? '', fault, component].join('\n'))
    .digest('hex')
    .slice(0, 16);
  const { html, landmark, contrast, related, failure_summary } = node;
  fingerprints.set(node, { rule, html, landmark, contrast, related, failure_summary, fingerprint });
  return fingerprint;
}

const KEYS = ['html', 'landmark', 'contrast', 'related', 'failure_summary'] as const;

/** The fingerprints of nodes, because nodes are capped, pictured and grouped by them. */
const fingerprints = new WeakMap<object, CauseNode & { rule: string; fingerprint: string }>();

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/**
 * The root causes of the findings of all tested pages, worst first: by impact, then pages, then elements. Rule and fingerprint come
 * last, so that the order is the same in every run. The example is the first element in the scan's order.
 */
export function rootCausesOf(pages: readonly ReportPage[], list: FindingList | 'reviewed'): RootCause[] {
  const causes = new Map<string, RootCause>();
  for (const page of testedPages(pages)) {
    const onPage = new Set<string>();
    for (const violation of page[list] ?? []) {
      for (const node of violation.nodes) {
        const fingerprint = rootCauseFingerprint(violation.rule, node);
        const cause = causes.get(fingerprint) ?? newCause(fingerprint, violation, node);
        causes.set(fingerprint, cause);
        cause.elements += 1;
        addState(cause, node);
        if (rank(violation) < rank(cause)) cause.impact = violation.impact;
        if (onPage.has(fingerprint)) continue;
        onPage.add(fingerprint);
        cause.pages += 1;
        if (cause.page_urls.length < PAGE_URLS_MAX) cause.page_urls.push(page.url);
      }
      // Each has an example among the nodes; see `capNodes`.
      for (const { fingerprint, elements } of violation.nodes_beyond ?? []) {
        const cause = causes.get(fingerprint);
        if (cause === undefined) continue;
        cause.elements += elements;
        if (cause.at_rest !== undefined) cause.at_rest += elements;
      }
    }
  }
  return [...causes.values()].sort(
    (a, b) =>
      rank(a) - rank(b) || b.pages - a.pages || b.elements - a.elements || compare(a.rule, b.rule) || compare(a.fingerprint, b.fingerprint),
  );
}

/** Notes the states in which an element was found, after it was counted. */
export function addState(cause: Pick<RootCause, 'elements' | 'states' | 'at_rest'>, { state, also_in: alsoIn = [] }: ReportNode): void {
  const kinds = new Set([...(cause.states ?? []), ...(state === undefined ? alsoIn : [state.kind])]);
  if (kinds.size === 0) return;
  cause.at_rest = (cause.at_rest ?? cause.elements - 1) + (state === undefined ? 1 : 0);
  cause.states = STATE_KINDS.filter((kind) => kinds.has(kind));
}

const rank = ({ impact }: Pick<RootCause, 'impact'>): number => IMPACTS.indexOf(impact);

const newCause = (fingerprint: string, { rule, impact, wcag, help, help_url }: ReportViolation, example: ReportNode): RootCause => ({
  ...{ fingerprint, rule, impact, wcag, help, help_url },
  ...{ pages: 0, elements: 0, example, page_urls: [] },
});
