/** Runs axe-core on a page: in one step if it has no frames, otherwise frame by frame, with merged results. */
import type { PageCaveat, UntestedFrame } from '../../../report/schema/page.ts';
import { createFrameIndex, findUnlisted, type FrameSource, hasFrames } from './frame-index.ts';
import { collectPartials, createFrameRun, type FrameLimits, type FrameRun } from './frames.ts';
import type { AxeResults } from './results.ts';
import { type AxeScript, evaluate, type IsolatedWorld } from '../scripts/source.ts';

export interface TestedDocument {
  results: AxeResults;
  framesUntested: UntestedFrame[];
  caveats: PageCaveat[];
  /** The number of closed shadow roots of its frames that were not opened. */
  closedRoots: number;
  /** The number of style sheets of other origins, in its frames, that were not read. */
  unreadSheets: number;
}

/**
 * Tests a page that is loaded and quiet. Frames that cannot be tested are listed; the results of all others are valid.
 * @throws EvaluationFailed if the page itself cannot be tested
 */
export async function testDocument(
  page: FrameSource,
  top: IsolatedWorld,
  script: AxeScript,
  limits: FrameLimits,
): Promise<TestedDocument & { frames: IsolatedWorld[] }> {
  const options = JSON.stringify(script.options);
  if (!(await hasFrames(page))) {
    const results = JSON.parse(await evaluate<string>(top, `curbcut.run(${options}, ${script.htmlTotal})`)) as AxeResults;
    return {
      results,
      framesUntested: [],
      caveats: failuresInside(results.hidden, results.failed),
      closedRoots: 0,
      unreadSheets: 0,
      frames: [],
    };
  }
  const index = createFrameIndex(page);
  const run = createFrameRun(script, index, limits);
  const partials = await collectPartials(run, top);
  await skipUnlisted(run);
  const results = JSON.parse(await evaluate<string>(top, `curbcut.finish([${partials.join(',')}], ${options})`)) as AxeResults;
  const { framesUntested, caveats } = run.untested();
  const failures = failuresInside([...run.hidden], results.failed);
  const frames = run.documents.flatMap(({ frameId, world }) => (frameId === null ? [] : [world]));
  return {
    results,
    framesUntested,
    caveats: [...caveats, ...failures],
    closedRoots: run.closedRoots,
    unreadSheets: run.unreadSheets,
    frames,
  };
}

async function skipUnlisted(run: FrameRun): Promise<void> {
  const { frames, beyond } = await findUnlisted(run.index, run.documents, run.known);
  for (const frame of frames) run.skip(frame);
  run.count(beyond);
}

/**
 * What axe-core could not test, without saying so.
 * @param hidden names of form fields
 * @param failed rules
 */
function failuresInside(hidden: string[], failed: string[]): PageCaveat[] {
  const messages: string[] = [];
  if (hidden.length > 0)
    messages.push(
      `A form has a field with the name ${hidden.join(', ')}, so axe-core did not test the content of the form. Rename the field.`,
    );
  const [rules, them] = failed.length === 1 ? ['rule', 'it'] : ['rules', 'them'];
  if (failed.length > 0) messages.push(`axe-core could not finish the ${rules} ${failed.join(', ')}. Check the page for ${them} by hand.`);
  return messages.map((message) => ({ kind: 'rules_failed', message }));
}
