import { expect } from 'chai';
import { createCollector } from './collector.ts';

describe('collected events', () => {
  it('are flushed only when a write that is under way has ended', async () => {
    const first = Promise.withResolvers<void>();
    const counts: number[] = [];
    const collector = createCollector<string>({
      max: 10,
      async write(events) {
        if (counts.length === 0) await first.promise;
        counts.push(...events.map(({ count }) => count));
      },
    });
    collector.add('a', 'a');
    void collector.flush();
    collector.add('a', 'a');
    collector.add('a', 'a');
    let flushed = false;
    const last = collector.flush().then(() => (flushed = true));
    await new Promise(setImmediate);
    expect({ flushed, counts }).to.deep.equal({ flushed: false, counts: [] });
    first.resolve();
    await last;
    expect(counts).to.deep.equal([1, 2]);
  });
});
