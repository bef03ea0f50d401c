/** Runs the scripts of the scanner on a page with and without our own checks, to compare findings and time. */
import type { CDPSession, Page } from 'playwright-core';
import type { AxeResults } from '../scanner-image/page/axe/results.ts';
import { axeOptions, axeSource, htmlTotal, OWN_CHECKS, scriptsOf } from '../scanner-image/page/scripts/source.ts';

const OPTIONS = JSON.stringify(axeOptions({ wcagLevel: 'AA', wcagVersion: '2.1', advice: false }));

export interface Sources {
  with: string;
  without: string;
}

/** The script of the scanner, and the same without our own checks. */
export async function checkSources(): Promise<Sources> {
  const [source, ...checks] = await Promise.all([axeSource('en'), ...OWN_CHECKS.map((name) => scriptsOf(name))]);
  return { with: source, without: checks.reduce((text, check) => text.replace(check, () => ''), source) };
}

/** Runs a test of the displayed page. */
export type RunTest = () => Promise<AxeResults>;

/** Prepares a world for a script in a page that is loaded. The page does not see it. */
export async function openWorld(page: Page, cdp: CDPSession, source: string): Promise<RunTest> {
  const { frameTree } = await cdp.send('Page.getFrameTree');
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const evaluate = async (expression: string): Promise<string> => {
    const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', {
      expression,
      contextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(`${page.url()}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value as string;
  };
  await evaluate(`${source};0`);
  return async () => JSON.parse(await evaluate(`curbcut.run(${OPTIONS}, ${htmlTotal(1)})`)) as AxeResults;
}
