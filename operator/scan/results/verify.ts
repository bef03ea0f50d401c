/**
 * Judges the export that a pod stored: it comes from the process that opened hostile pages, so nothing in it is
 * believed that can be counted again. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { Compile } from 'typebox/compile';
import { toReportOptions } from '../../../core/report/options.ts';
import { deriveResults, testedPages } from '../../../core/report/results.ts';
import { Report, type ReportPage, type TestedPage } from '../../../core/report/schema.ts';
import { pageScore } from '../../../core/report/score.ts';
import type { ScanOptions } from '../../../core/scan/options.ts';
import type { Outcome } from '../../../core/scan/outcome.ts';
import type { Verdict } from '../../../core/scan/thresholds.ts';
import { isParseable } from './json-shape.ts';

const schema = Compile(Report);

/** What an export must be about. */
export interface Expectation {
  scanId: string;
  options: ScanOptions;
  /** Pages for which credits are held. */
  reserved: number;
  pagesRequested: number;
  /** What the pod said of its pages. */
  said: { scanned: number; failed: number };
}

export type Judgement = { accepted: true; outcome: Outcome; verdict: Verdict } | { accepted: false; why: string };

/** A page's score may be rounded to one decimal by whoever wrote it. */
const ROUNDING = 0.1;

const refuse = (why: string): Judgement => ({ accepted: false, why });

/**
 * Judges an export's bytes. `why` ends the sentence "The scanner's results were refused: …".
 * @param onPages is shown the pages of an export that is accepted
 */
export function examine(bytes: Uint8Array, expected: Expectation, onPages?: (pages: readonly ReportPage[]) => void): Judgement {
  if (!isParseable(bytes)) return refuse('the export holds more values than its size allows.');
  let report: unknown;
  try {
    report = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return refuse('the export is not JSON.');
  }
  if (!schema.Check(report)) {
    const [first] = schema.Errors(report);
    return refuse(`the export is not of its schema (${first?.instancePath || 'the whole'} ${first?.message ?? 'does not match'}).`);
  }
  const judgement = misfit(report, expected) ?? recount(report, expected);
  if (judgement.accepted) onPages?.(report.pages);
  return judgement;
}

/** The export must be about what was asked for. */
function misfit({ scan }: Report, { scanId, options, reserved, pagesRequested }: Expectation): Judgement | null {
  if (scan.id !== scanId) return refuse('the export is of another scan.');
  if (scan.url !== options.url) return refuse('the export is of another URL.');
  const asked = toReportOptions(options, { requested: pagesRequested, reserved });
  if (!isDeepStrictEqual(scan.options, asked.options)) return refuse('the export was made with other options.');
  return isDeepStrictEqual(scan.thresholds, asked.thresholds) ? null : refuse('the export was judged by other thresholds.');
}

/** Everything that follows from the pages is derived again. */
function recount(report: Report, { options, reserved, said }: Expectation): Judgement {
  const { pages, score, scan } = report;
  const tested = testedPages(pages);
  if (tested.length === 0) return refuse('the export has no tested page.');
  if (tested.length > reserved) return refuse(`${tested.length} pages were tested, but credits are held for ${reserved}.`);
  const untested = pages.length - tested.length;
  if (tested.length !== said.scanned || untested !== said.failed) return refuse("page counts differ from the scanner's summary.");
  const wrong = tested.find((page) => !agrees(page));
  if (wrong !== undefined) return refuse(`the score of page ${wrong.url} does not follow from its violations.`);

  const derived = deriveResults(pages, options.thresholds);
  const { outcome, verdict } = derived;
  if (!isDeepStrictEqual(report.counts, outcome.violations)) return refuse('the counts do not follow from the violations.');
  if (score.value !== outcome.score || score.score_version !== derived.score.score_version)
    return refuse('the score does not follow from the pages.');
  if (!isDeepStrictEqual(score, derived.score)) return refuse('the coverage does not follow from the pages.');
  if (!isDeepStrictEqual(scan.verdict, verdict)) return refuse('the verdict does not follow from score and violations.');
  if (!isDeepStrictEqual(report.groups, derived.groups)) return refuse('the root causes do not follow from the violations.');
  return { accepted: true, outcome, verdict };
}

/** True if a page's score follows from its rules, and every violation is of a rule that failed. (A rule that failed on no element that can be named lowers the score, and is no violation.) */
function agrees(page: TestedPage): boolean {
  const failed = Object.values(page.rules).reduce((sum, { failed }) => sum + failed, 0);
  return failed >= page.violations.length && Math.abs(page.score - pageScore(page.rules)) <= ROUNDING;
}
