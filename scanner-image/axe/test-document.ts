/** Runs axe-core on a page: in one step if it has no frames, otherwise frame by frame, with merged results. */
import type { Page } from 'playwright-core';
import type { PageCaveat, UntestedFrame } from '../../core/report/schema.ts';
import type { EgressFailure } from '../egress/egress-failures.ts';
import { createFrameIndex } from './frame-index.ts';
import { collectPartials, createFrameRun } from './frames.ts';
import type { AxeResults } from './results.ts';
import type { AxeOptions } from './source.ts';
import { evaluate, type Place } from './world.ts';

/** The script that tests a document, and its arguments. */
export interface AxeScript {
  /** The script for our world, from `axeSource`. Frames in other processes do not get it automatically. */
  source: string;
  options: AxeOptions;
  /** From `htmlTotal`. */
  htmlTotal: number;
  /** Why the egress proxy could not reach the host of a frame. */
  egressFailureOf: (url: URL) => EgressFailure | undefined;
}

export interface TestedDocument {
  results: AxeResults;
  framesUntested: UntestedFrame[];
  caveats: PageCaveat[];
}

/**
 * Tests a page that is loaded and quiet. Frames that cannot be tested are listed; the results of all others are valid.
 * @param msLeft returns the rest of the page's budget
 * @throws EvaluationFailed if the page itself cannot be tested
 */
export async function testDocument(page: Page, top: Place, script: AxeScript, msLeft: () => number): Promise<TestedDocument> {
  const options = JSON.stringify(script.options);
  if (page.frames().length === 1) {
    const results = JSON.parse(await evaluate<string>(top, `curbcut.run(${options}, ${script.htmlTotal})`)) as AxeResults;
    return { results, framesUntested: [], caveats: failedRules(results) };
  }
  const index = createFrameIndex(page);
  const run = createFrameRun(script, index, msLeft);
  try {
    const partials = await collectPartials(run, top);
    const results = JSON.parse(await evaluate<string>(top, `curbcut.finish([${partials.join(',')}], ${options})`)) as AxeResults;
    const { framesUntested, caveats } = run.untested();
    return { results, framesUntested, caveats: [...caveats, ...failedRules(results)] };
  } finally {
    index.close();
  }
}

/** axe-core skips a rule that fails inside. */
function failedRules({ failed }: AxeResults): PageCaveat[] {
  if (failed.length === 0) return [];
  const message = `axe-core could not finish ${failed.length === 1 ? 'the rule' : 'the rules'} ${failed.join(', ')} on this page. Check the page for them by hand.`;
  return [{ kind: 'rules_failed', message }];
}
