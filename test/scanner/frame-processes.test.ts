/** Frames of other sites have processes and sessions of their own, whose end does not affect the page. */
import type { Browser } from 'playwright-core';
import { expect } from 'chai';
import { launchChromium } from '../../scanner-image/page/browser/chromium.ts';
import type { FrameProcess } from '../../scanner-image/page/browser/cdp.ts';
import { identityOf, openTarget, type Target } from '../../scanner-image/page/browser/target.ts';
import { openEgress } from '../../scanner-image/egress/proxy.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { html, machine, openSite, type Site } from './site.ts';

describe('the process of a frame', () => {
  let site: Site;
  let egress: Awaited<ReturnType<typeof openEgress>>;
  let browser: Browser;
  let target: Target;
  let lost: string[];
  beforeEach(async () => {
    const frame = (host: string, path: string): string => `<iframe src="http://${host}:${site.port}${path}"></iframe>`;
    site = await openSite({
      '/': (_request, response) => response.end(html(frame('one.localhost', '/frame'))),
      '/frame': (_request, response) => response.end(html(frame('two.localhost', '/inner'))),
      '/inner': html(''),
    });
    const resolver = { resolve: () => Promise.resolve({ ok: true as const, addresses: ['127.0.0.1'] }) };
    egress = await openEgress({ rules: { allow: ['127.0.0.0/8'], deny: [] }, log: silentLogger, resolver });
    browser = await launchChromium(machine, egress.url, silentLogger, ['en']);
    target = await openTarget(browser, { identity: identityOf(browser.version(), '1.0.0', 'en') });
    lost = [];
    target.onLost((why) => lost.push(why));
    await target.page.goto(`http://page.localhost:${site.port}/`);
  });
  afterEach(async () => {
    await browser.close();
    await egress.close();
    await site.close();
  });

  const failure = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
  async function frameAt(path: string): Promise<FrameProcess> {
    for (const frame of target.frameProcesses()) if ((await target.describe(frame)).url.endsWith(path)) return frame;
    throw new Error(`no frame has the path ${path}`);
  }
  const hang = (frame: FrameProcess): Promise<unknown> => failure(frame.session.send('Runtime.evaluate', { expression: 'for (;;);' }));

  it('answers commands, also inside another frame', async () => {
    for (const path of ['/frame', '/inner']) {
      const { session } = await frameAt(path);
      const { result } = await session.send('Runtime.evaluate', { expression: 'location.pathname' });
      expect(result.value).to.equal(path);
      expect(await failure(session.send('Page.navigateToHistoryEntry', { entryId: -1 })))
        .to.be.instanceOf(Error)
        .with.property('message')
        .that.matches(/^Page\.navigateToHistoryEntry: ./);
    }
    expect(target.frameProcesses()).to.have.length(2);
  });

  it('is described while it hangs', async () => {
    const inner = await frameAt('/inner');
    void hang(inner);
    expect(await target.describe(inner)).to.include({ parentId: (await frameAt('/frame')).id });
  });

  it('ends with the element of the frame: commands without an answer fail, and those that follow', async () => {
    const frames = [await frameAt('/frame'), await frameAt('/inner')];
    const open = frames.map(hang);
    await target.page.evaluate('document.querySelector("iframe").remove()');
    for (const answer of open) expect(await answer).to.be.instanceOf(Error);
    for (const { session } of frames) expect(await failure(session.send('Page.enable'))).to.be.instanceOf(Error);
    expect(target.frameProcesses()).to.deep.equal([]);
  });

  it('does not take the page along when it crashes, but Playwright cannot navigate the page any more', async () => {
    const crashed = target.page.waitForEvent('crash');
    void failure((await frameAt('/frame')).session.send('Page.crash'));
    await crashed;
    expect(target.crashed()).to.equal(true);
    const { result } = await target.cdp.send('Runtime.evaluate', { expression: 'document.title' });
    expect(result.value).to.equal('A page');
    expect(lost).to.deep.equal([]);
  });

  it('belongs to a page that reports its own crash', async () => {
    const why = new Promise((resolve) => target.onLost(resolve));
    void failure(target.cdp.send('Page.crash'));
    expect(await why).to.equal('The page crashed its tab.');
  });
});
