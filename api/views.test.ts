import { expect } from 'chai';
import type { ReportView } from '../core/report/view.ts';
import { cachedViews } from './views.ts';

describe('cached views', () => {
  function open(read: (scanId: string) => Promise<ReportView | null> = async (url) => ({ url }) as ReportView) {
    const reads: string[] = [];
    let now = 0;
    const views = cachedViews(
      {
        readView(scanId) {
          reads.push(scanId);
          return read(scanId);
        },
      },
      () => new Date(now),
    );
    return { views, reads, wait: (ms: number) => (now += ms) };
  }

  it('are read once, also by requests at the same time, and again after five minutes', async () => {
    const { views, reads, wait } = open();
    const both = await Promise.all([views.readView('a'), views.readView('a')]);
    expect(both.map((view) => view?.url)).to.deep.equal(['a', 'a']);
    wait(299_999);
    await views.readView('a');
    expect(reads).to.deep.equal(['a']);
    wait(1);
    await views.readView('a');
    expect(reads).to.deep.equal(['a', 'a']);
  });

  it('are at most 16, of which the least recently used one is dropped', async () => {
    const { views, reads } = open();
    for (let index = 0; index < 16; index += 1) await views.readView(String(index));
    await views.readView('0');
    await views.readView('another');
    reads.length = 0;
    await views.readView('0');
    await views.readView('1');
    expect(reads).to.deep.equal(['1']);
  });

  it('are read again after a failure, and if there was none', async () => {
    const results = [() => Promise.reject(new Error('unavailable')), async () => null, async () => ({ url: 'a' }) as ReportView];
    const { views, reads } = open(() => results.shift()!());
    expect(await views.readView('a').catch((error: Error) => error.message)).to.equal('unavailable');
    expect(await views.readView('a')).to.equal(null);
    expect((await views.readView('a'))?.url).to.equal('a');
    expect((await views.readView('a'))?.url).to.equal('a');
    expect(reads).to.have.length(3);
  });
});
