/**
 * The object with the findings of a report: the details of each root cause and what each page has, one JSON text after the other. A
 * page of the dashboard reads only the parts that it shows. The view has their places. Pure.
 */
import { Type, type Static } from 'typebox';
import { IMPACTS, type Impact } from '../../core/scan/impacts.ts';
import { distinctNames } from '../causes/element-names.ts';
import { addState, rootCauseFingerprint } from '../causes/root-causes.ts';
import { elementPath, ReportNode, type ReportPage, type ReportViolation, type TestedPage, testedPages } from '../schema/page.ts';
import { RootCause } from '../schema/root-cause.ts';
import { bounded, jsonBytes, shortened, startWithin } from './bounds.ts';
import type { CauseLine, FindingsPlace } from './schema.ts';

/** The bounds of the object, in bytes. The pages share theirs equally. */
export const FINDINGS_LIMITS = { causes: 8 * 1024 * 1024, pages: 8 * 1024 * 1024, page: 256 * 1024, elements: 20 } as const;

const { fingerprint, rule, impact, elements, states, at_rest } = RootCause.properties;
const { selector, html, box } = ReportNode.properties;

/** The longest HTML of an element of a page, in characters. */
const HTML_MAX = 500;

/** A root cause on one page, with the first of its elements there. */
const PageCause = Type.Object({
  ...{ fingerprint, rule, impact, elements, states, at_rest },
  /** `state`: the label of the state in which an element was found. */
  shown: Type.Array(Type.Object({ selector, html, box, state: Type.Optional(Type.String()) })),
});
export type PageCause = Static<typeof PageCause>;

/** The findings of one page, worst first. Lists are cut at their end. */
export const PageCauses = Type.Object({
  causes: Type.Array(PageCause),
  causes_total: Type.Integer({ minimum: 0 }),
  /** Elements that a person must check. */
  needs_review: Type.Array(PageCause),
  needs_review_total: Type.Integer({ minimum: 0 }),
});
export type PageCauses = Static<typeof PageCauses>;

export interface PlacedFindings {
  /** Those whose details fit. */
  causes: CauseLine[];
  /** Of the pages with findings. */
  pages: ReadonlyMap<ReportPage, FindingsPlace>;
  object: Uint8Array<ArrayBuffer>;
}

/** Writes the object. @param all every root cause, in the order of the view @param listed the first pages of the scan */
export function placeFindings(all: readonly RootCause[], listed: readonly ReportPage[]): PlacedFindings {
  const parts: Buffer[] = [];
  let offset = 0;
  const place = (value: unknown): FindingsPlace => {
    const bytes = Buffer.from(JSON.stringify(value));
    parts.push(bytes);
    offset += bytes.byteLength;
    return { offset: offset - bytes.byteLength, bytes: bytes.byteLength };
  };
  const pages = testedPages(listed);
  const numbers = pagesByCause(listed);
  const names = distinctNames(all, ({ rule }) => rule);
  const causes: CauseLine[] = [];
  for (const cause of all) {
    const { fingerprint, rule, impact, pages: onPages, elements, new_elements, known_elements, states, at_rest } = cause;
    const details = place(cause);
    causes.push({
      ...{
        fingerprint,
        rule,
        impact,
        element: names.get(cause)!,
        pages: onPages,
        elements,
        details,
        on_pages: numbers.get(fingerprint) ?? [],
      },
      ...(new_elements !== undefined && { new_elements }),
      ...(known_elements !== undefined && { known_elements }),
      ...(states && { states, at_rest }),
    });
    if (offset > FINDINGS_LIMITS.causes) break;
  }
  const found = pages.filter((page) => page.violations.length + page.needs_review.length > 0);
  const perPage = Math.min(FINDINGS_LIMITS.page, Math.floor(FINDINGS_LIMITS.pages / Math.max(1, found.length)));
  const places = new Map(found.map((page) => [page as ReportPage, place(findingsOf(page, perPage))]));
  return { causes, pages: places, object: joined(parts, offset) };
}

/** The numbers of the pages of each root cause. */
function pagesByCause(pages: readonly ReportPage[]): ReadonlyMap<string, number[]> {
  const numbers = new Map<string, number[]>();
  for (const [index, page] of pages.entries()) {
    const found = page.tested ? page.violations.flatMap(({ rule, nodes }) => nodes.map((node) => rootCauseFingerprint(rule, node))) : [];
    for (const fingerprint of new Set(found)) {
      const on = numbers.get(fingerprint) ?? [];
      numbers.set(fingerprint, on);
      on.push(index + 1);
    }
  }
  return numbers;
}

/** One copy in a buffer of its own, which a thread can hand over. */
function joined(parts: readonly Buffer[], bytes: number): Uint8Array<ArrayBuffer> {
  const object = new Uint8Array(bytes);
  let offset = 0;
  for (const part of parts) {
    object.set(part, offset);
    offset += part.byteLength;
  }
  return object;
}

/** The findings of a page in at most `maxBytes` of JSON. The causes go before the elements, because filters need them. */
function findingsOf({ violations, needs_review }: TestedPage, maxBytes: number): PageCauses {
  const [failing, toReview] = [pageCauses(violations), pageCauses(needs_review)];
  const bare = (causes: readonly PageCause[]): PageCause[] => causes.map((cause) => ({ ...cause, shown: [] }));
  const causes = startWithin(bare(failing), maxBytes / 2).start;
  const review = startWithin(bare(toReview), maxBytes / 8).start;
  const findings = { causes, causes_total: failing.length, needs_review: review, needs_review_total: toReview.length };
  let space = maxBytes - jsonBytes(findings);
  for (const [listed, all] of [
    [causes, failing],
    [review, toReview],
  ] as const)
    for (const [index, cause] of listed.entries()) {
      const { start, bytes } = startWithin(all[index]!.shown, space);
      cause.shown = start;
      space -= bytes;
    }
  return findings;
}

const shownElement = (node: ReportNode): PageCause['shown'][number] => ({
  selector: bounded(elementPath(node), 'selector'),
  html: shortened(node.html, HTML_MAX),
  box: node.box,
  ...(node.state && { state: bounded(node.state.label, 'selector') }),
});

function pageCauses(violations: readonly ReportViolation[]): PageCause[] {
  const rank = (impact: Impact): number => IMPACTS.indexOf(impact);
  const causes = new Map<string, PageCause>();
  for (const violation of violations) {
    for (const node of violation.nodes) {
      const fingerprint = rootCauseFingerprint(violation.rule, node);
      let cause = causes.get(fingerprint);
      if (cause === undefined) {
        cause = { fingerprint, rule: bounded(violation.rule, 'rule'), impact: violation.impact, elements: 0, shown: [] };
        causes.set(fingerprint, cause);
      }
      if (rank(violation.impact) < rank(cause.impact)) cause.impact = violation.impact;
      cause.elements += 1;
      addState(cause, node);
      if (cause.shown.length < FINDINGS_LIMITS.elements) cause.shown.push(shownElement(node));
    }
    for (const { fingerprint, elements } of violation.nodes_beyond ?? []) {
      const cause = causes.get(fingerprint);
      if (cause !== undefined) cause.elements += elements;
    }
  }
  return [...causes.values()].sort((a, b) => rank(a.impact) - rank(b.impact) || b.elements - a.elements);
}
