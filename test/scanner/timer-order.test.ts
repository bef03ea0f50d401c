/** The order in which the browser runs the timers of a page and those of the wait. */
import { expect } from 'chai';
import { chromium, type Browser } from 'playwright-core';
import { scriptsOf } from '../../scanner-image/page/scripts/source.ts';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import { html, machine } from './site.ts';

describe('the wait for timers', () => {
  let browser: Browser;
  before(async () => void (browser = await chromium.launch({ executablePath: findChromium(machine) })));
  after(() => browser.close());

  // A short timer is precise, and runs before a long one that is due some milliseconds earlier if both are late.
  it('ends after the long timers of a page, also if its own short one runs first', async () => {
    const page = await browser.newPage();
    await page.setContent(html('<p>Text</p><script>0</script>'));
    const cdp = await page.context().newCDPSession(page);
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
    const evaluate = async (expression: string, world = {}): Promise<unknown> =>
      (await cdp.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, ...world })).result.value;
    await evaluate(await scriptsOf('settle.js'), { contextId });
    await evaluate(await scriptsOf('watch.js'));
    // Busy until the wait has less than 32 ms left, the longest delay of a precise timer, and then until both timers are late.
    const began = await evaluate(
      `const began = performance.now(); setTimeout(() => (document.body.dataset.ran = 'yes'), 70); while (performance.now() < began + 50); began`,
    );
    const ran = await evaluate(
      `(() => { const settled = curbcut.settle({ quietMs: 1, capMs: 5000 }); while (performance.now() < ${began as number} + 77); return settled.then(() => document.body.dataset.ran); })()`,
      { contextId },
    );
    expect(ran).to.equal('yes');
  });
});
