/** Visits test cases with the scanner and keeps which rules reported what. */
import type { WcagLevel, WcagVersion } from '../../core/scan/options.ts';
import { openOnePageScanner, type OnePageScanner } from '../one-page-scanner.ts';
import type { CaseServer } from './server.ts';
import type { TestCase } from './cases.ts';

/** What a visit of a case found. */
export type CaseResult =
  | {
      tested: true;
      violations: ReadonlySet<string>;
      needsReview: ReadonlySet<string>;
      /** Rules that ran on an element of the page. */
      applied: ReadonlySet<string>;
    }
  | { tested: false; reason: string };

export interface RunOptions {
  target: { level: WcagLevel; version: WcagVersion };
  /** Tabs that work at the same time. */
  workers: number;
  /** Called after every case. */
  onResult?: (testCase: TestCase, result: CaseResult) => void;
}

/** The results by case, and the version of the browser. */
export async function runCases(
  cases: readonly TestCase[],
  server: Pick<CaseServer, 'urlOf'>,
  { target, workers, onResult }: RunOptions,
): Promise<{ results: Map<TestCase, CaseResult>; browser: string }> {
  const scanner = await openOnePageScanner(target);
  const results = new Map<TestCase, CaseResult>();
  const queue = [...cases];
  async function work(worker: number): Promise<void> {
    for (let testCase = queue.shift(); testCase !== undefined; testCase = queue.shift()) {
      const result = await visitCase(scanner, server.urlOf(testCase), worker);
      results.set(testCase, result);
      onResult?.(testCase, result);
    }
  }
  try {
    const browser = await scanner.browserVersion();
    await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    return { results, browser };
  } finally {
    await scanner.close();
  }
}

async function visitCase(scanner: OnePageScanner, url: URL, worker: number): Promise<CaseResult> {
  const visit = await scanner.visit(url, { worker, mayBeEmpty: true });
  if (!visit.loaded) return { tested: false, reason: visit.reason };
  if (visit.findings === null) return { tested: false, reason: 'not_tested' };
  // After a redirect the findings are those of another page.
  if (visit.finalUrl.pathname !== url.pathname) return { tested: false, reason: 'redirected' };
  const { violations, needsReview, passes } = visit.findings;
  const failed = violations.map(({ rule }) => rule);
  const review = needsReview.map(({ rule }) => rule);
  return {
    tested: true,
    violations: new Set(failed),
    needsReview: new Set(review),
    applied: new Set([...failed, ...review, ...passes.map(({ id }) => id)]),
  };
}
