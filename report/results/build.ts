/** Builds the JSON export of a scan: score, verdict, counts and root causes over its pages. */
import { PICTURES_MAX_BYTES, type PodInput } from '../../core/protocol/pod-messages.ts';
import type { ChosenBaseline } from '../diff/baseline.ts';
import type { ReportPage } from '../schema/page.ts';
import type { Report, ReportConsent, ReportDiscovery } from '../schema/report.ts';
import { toReportOptions } from '../../core/scan/submitted-options.ts';
import { isParseable } from '../schema/export-size.ts';
import { decidePages } from '../causes/decisions.ts';
import { deriveResults, statesOfReport } from './results.ts';
import { numberRules, ruleResults } from './rule-outcomes.ts';
import { capPage } from './cap-nodes.ts';
import { type PlacedPictures, placePictures, type TakenPictures } from './pictures.ts';

const NO_DISCOVERY: ReportDiscovery = { links: 0, files: 0, hash_links: 0, other_hosts: [], other_hosts_left: 0, sitemaps_cut: 0 };

/**
 * Builds the report of a scan.
 * @param found.pages in the scan's order, tested and untested; their rules as `positionsOf` gives them
 * @param found.tools versions of Curbcut, axe-core and the browser
 * @throws RangeError if no page was tested, because such a scan has failed and has no report
 */
export function buildReport(found: {
  input: PodInput;
  pages: ReportPage[];
  tools: Report['tools'];
  startedAt: Date;
  finishedAt: Date;
  consent?: ReportConsent;
  /** The scan was canceled before all pages were tested. */
  partial?: boolean;
  /** The scan to compare with. Absent: none was named. */
  baseline?: ChosenBaseline;
  /** The number of addresses that were found and are not in `pages`. */
  addressesLeft?: number;
  /** Absent: only pages were found. */
  discovery?: ReportDiscovery;
}): Report {
  const { input, tools, partial = false, addressesLeft = 0, discovery = NO_DISCOVERY } = found;
  const { pages, ids } = numberRules(decidePages(found.pages, found.input.knownIssues?.issues ?? []));
  const target = toReportOptions(input.options, input.pagesReserved);
  const { outcome, verdict, baseline, known_issues, score, fingerprint_version, groups, review_groups, advice_groups } = deriveResults(
    pages,
    input.options.thresholds,
    {
      partial,
      found: { discovery, maxPages: target.options.pages_requested },
      ...(found.baseline && {
        baseline: { chosen: found.baseline, scan: { url: input.options.url, options: target.options }, tools, rules: ids },
      }),
      ...(input.knownIssues && { known: input.knownIssues }),
    },
  );
  return {
    schema_version: 1,
    scan: {
      id: input.scanId,
      url: input.options.url,
      ...target,
      metadata: input.metadata ?? {},
      verdict,
      submitted_at: input.submittedAt,
      started_at: found.startedAt.toISOString(),
      finished_at: found.finishedAt.toISOString(),
    },
    tools,
    score,
    counts: outcome.violations,
    ...(partial && { partial }),
    ...(baseline && { baseline }),
    ...(known_issues && { known_issues }),
    ...(found.consent && { consent: found.consent }),
    ...statesOfReport(pages, input.options),
    pages,
    fingerprint_version,
    groups,
    review_groups,
    advice_groups,
    ...ruleResults(pages, ids, target.options),
    // `fitReport` places them.
    pictures: [],
    addresses_left: addressesLeft,
    discovery,
  };
}

/** The caps that are tried in turn. The pages are within the findings' budget, so the first one is nearly always enough. */
const CAPS = [Infinity, 100, 20, 5, 1];

export interface FittedReport {
  report: Report;
  /** The export: the report as JSON. */
  text: Uint8Array<ArrayBuffer>;
  pictures: PlacedPictures;
}

/**
 * Builds the report. If its export is too large, it describes fewer elements.
 * @param build builds the report of these pages
 * @param maxBytes the largest export
 * @returns null if it is too large although each rule of each page has one element
 */
export function fitReport(
  build: (pages: ReportPage[]) => Report,
  { pages, picturesLeft = 0, ...taken }: { pages: ReportPage[] } & TakenPictures,
  maxBytes: number,
): FittedReport | null {
  for (const max of CAPS) {
    const derived = build(pages.map((page) => (page.tested ? capPage(page, max) : page)));
    const placed = placePictures(derived, taken, PICTURES_MAX_BYTES);
    const { places, pagePlaces } = placed;
    const report = {
      ...derived,
      pictures: places,
      ...(pagePlaces.length > 0 && { page_pictures: pagePlaces }),
      ...(picturesLeft > 0 && { pictures_left: picturesLeft }),
    };
    const text = exportOf(report);
    if (text.byteLength <= maxBytes && isParseable(text)) return { report, text, pictures: placed };
  }
  return null;
}

/** Returns the JSON of a report. Its lists are encoded element by element, because one string of everything needs twice the memory. */
export function exportOf(report: Report): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = [];
  const add = (text: string): unknown => parts.push(Buffer.from(text));
  for (const [at, [name, value]] of Object.entries(report).entries()) {
    add(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    if (!Array.isArray(value)) {
      add(JSON.stringify(value));
      continue;
    }
    for (const [index, element] of value.entries()) add(`${index === 0 ? '[' : ','}${JSON.stringify(element)}`);
    add(value.length === 0 ? '[]' : ']');
  }
  add('}');
  return Buffer.concat(parts);
}
