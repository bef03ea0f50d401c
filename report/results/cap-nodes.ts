/**
 * Caps the elements that a report describes. A page can have 20,000 failing elements; their number is always reported
 * (`nodes_total`), and the elements of every root cause are counted, but only the first ones are described. Pure.
 */
import { rootCauseFingerprint } from '../causes/root-causes.ts';
import { FINDING_LISTS, type FindingList, findingsOf, type ReportViolation, type TestedPage } from '../schema/page.ts';

/** The number of elements of one rule that a page's report describes. */
export const NODES_MAX = 500;

/** The caps that are tried in turn, if a page's findings are too large. */
const CAPS = [NODES_MAX, 200, 100, 50, 20, 10, 5, 2, 1];

/**
 * Describes at most `max` elements of a finding: the first one of each root cause, then the first of the others. The rest is
 * counted by root cause in `nodes_beyond`. Root causes beyond the cap are counted only in `nodes_total`. A finding may be
 * capped again.
 */
export function capNodes(finding: ReportViolation, max: number): ReportViolation {
  const { nodes, nodes_beyond: before = [] } = finding;
  if (nodes.length <= max) return finding;
  const causes = nodes.map((node) => rootCauseFingerprint(finding.rule, node));
  const kept = new Set<number>();
  const beyond = new Map<string, number>();
  for (const [at, cause] of causes.entries())
    if (kept.size < max && !beyond.has(cause)) {
      beyond.set(cause, 0);
      kept.add(at);
    }
  for (let at = 0; at < nodes.length && kept.size < max; at++) kept.add(at);
  for (const [at, cause] of causes.entries()) if (!kept.has(at) && beyond.has(cause)) beyond.set(cause, beyond.get(cause)! + 1);
  for (const { fingerprint, elements } of before) if (beyond.has(fingerprint)) beyond.set(fingerprint, beyond.get(fingerprint)! + elements);
  const { nodes_beyond: _, ...rest } = finding;
  const counted = [...beyond].filter(([, elements]) => elements > 0);
  return {
    ...rest,
    nodes: nodes.filter((_node, at) => kept.has(at)),
    ...(counted.length > 0 && { nodes_beyond: counted.map(([fingerprint, elements]) => ({ fingerprint, elements })) }),
  };
}

/** The number of elements of a finding that no root cause of the report counts. */
export function uncounted({ nodes, nodes_total, nodes_beyond = [] }: ReportViolation): number {
  return nodes_total - nodes.length - nodes_beyond.reduce((sum, { elements }) => sum + elements, 0);
}

/** Caps every finding of a page, and says on the page which root causes were left out. */
export function capPage(page: TestedPage, max: number): TestedPage {
  if (findingsOf(page).every(({ nodes }) => nodes.length <= max)) return page;
  const capped = { ...page };
  for (const list of FINDING_LISTS) capped[list] = page[list].map((found) => capNodes(found, max));
  const left = findingsOf(capped).filter((finding) => uncounted(finding) > 0);
  const caveats = page.caveats.filter(({ kind }) => kind !== 'causes_left_out');
  if (left.length > 0) caveats.push({ kind: 'causes_left_out', message: leftOut(left) });
  return { ...capped, caveats };
}

/** The number of rules that the message names. */
const NAMED = 5;

function leftOut(findings: readonly ReportViolation[]): string {
  const rules = findings.slice(0, NAMED).map((finding) => `${finding.rule} (${uncounted(finding)} of ${finding.nodes_total} elements)`);
  const more = findings.length > NAMED ? ` and ${findings.length - NAMED} more rules` : '';
  return `The page has more different findings than the report can describe. All of them are counted, but these are not described: ${rules.join(', ')}${more}. Fix the others, then scan again.`;
}

/** The size of a page's findings in the export, in bytes. */
export function findingsBytes(page: Pick<TestedPage, FindingList>): number {
  return FINDING_LISTS.reduce((sum, list) => sum + Buffer.byteLength(JSON.stringify(page[list])), 0);
}

/** The share of the budget that is divided equally among the pages. */
const EQUAL_SHARE = 1 / 2;
/** The share of the surplus that one page may use. */
const SURPLUS_SHARE = 1 / 8;

/**
 * Limits the findings of a scan while its pages arrive, so that they fit into memory and into the export.
 *
 * Every page has an equal share of one half of the budget. A page that needs more may use an eighth of the surplus, which is
 * the other half and what earlier pages did not need.
 * @param bytes the size of all findings
 */
export function createFindingsBudget(bytes: number, maxPages: number) {
  const equal = (bytes * EQUAL_SHARE) / maxPages;
  let surplus = bytes * (1 - EQUAL_SHARE);
  return {
    /** Returns the page with as many elements described as the budget allows. Call it in the order of the pages. */
    take(page: TestedPage): TestedPage {
      const allowed = equal + surplus * SURPLUS_SHARE;
      let capped = page;
      let size = 0;
      for (const max of CAPS) {
        capped = capPage(page, max);
        size = findingsBytes(capped);
        if (size <= allowed) break;
      }
      surplus = Math.max(0, surplus + equal - size);
      return capped;
    },
  };
}
