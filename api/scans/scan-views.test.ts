import { expect } from 'chai';
import type { ReportView } from '../../report/view/view.ts';
import { ApiError } from '../http/errors.ts';
import { createPageReports, READ_LIMITS } from './scan-views.ts';

describe('views of reports', () => {
  function open(read: (scanId: string) => Promise<ReportView | null> = async (url) => ({ scan: { url } }) as ReportView) {
    const reads: string[] = [];
    let now = 0;
    const views = createPageReports(
      {
        readView(scanId) {
          reads.push(scanId);
          return read(scanId);
        },
        readFindings: async () => null,
        readPicture: async () => null,
      },
      { monotonic: () => now },
    );
    const readView = (id: string) => views.readView({ id, organisation: 'acme' });
    return { readView, reads, wait: (ms: number) => (now += ms) };
  }

  it('are read once, also by requests at the same time, and again after five minutes', async () => {
    const { readView, reads, wait } = open();
    const both = await Promise.all([readView('a'), readView('a')]);
    expect(both.map((view) => view?.scan.url)).to.deep.equal(['a', 'a']);
    wait(299_999);
    await readView('a');
    expect(reads).to.deep.equal(['a']);
    wait(1);
    await readView('a');
    expect(reads).to.deep.equal(['a', 'a']);
  });

  it('are at most 16, of which the least recently used one is dropped', async () => {
    const { readView, reads } = open();
    for (let index = 0; index < 16; index += 1) await readView(String(index));
    await readView('0');
    await readView('another');
    reads.length = 0;
    await readView('0');
    await readView('1');
    expect(reads).to.deep.equal(['1']);
  });

  it('are read again after a failure, and if there was none', async () => {
    const results = [() => Promise.reject(new Error('unavailable')), async () => null, async () => ({ scan: { url: 'a' } }) as ReportView];
    const { readView, reads } = open(() => results.shift()!());
    expect(await readView('a').catch((error: Error) => error.message)).to.equal('unavailable');
    expect(await readView('a')).to.equal(null);
    expect((await readView('a'))?.scan.url).to.equal('a');
    expect((await readView('a'))?.scan.url).to.equal('a');
    expect(reads).to.have.length(3);
  });

  it('are read in turn: one organisation leaves room for others, and a refusal says whose limit it was', async () => {
    const reading: { organisation: string; end: () => void }[] = [];
    const read = (organisation: string) => {
      const { promise, resolve } = Promise.withResolvers<null>();
      reading.push({ organisation, end: () => resolve(null) });
      return promise;
    };
    const reports = createPageReports(
      { readView: () => read('acme'), readFindings: () => read('acme'), readPicture: (organisation) => read(organisation) },
      { turnMs: 60_000 },
    );
    const pictureOf = (organisation: string) =>
      reports.readPicture({ id: organisation, organisation }, { offset: 0, bytes: 1 }).catch((error: unknown) => error);
    const theirs = Array.from({ length: READ_LIMITS.pending.perKey }, () => pictureOf('acme'));
    const refused = await pictureOf('acme');
    expect(refused).to.be.instanceOf(ApiError).with.property('code', 'replica_busy'); // prettier-ignore
    expect((refused as ApiError).fields).to.include({ limit: 'organisation' });
    const other = pictureOf('other');
    await new Promise((done) => setImmediate(done));
    const running = reading.map(({ organisation }) => organisation);
    expect(running.filter((one) => one === 'acme')).to.have.length(READ_LIMITS.held.perKey);
    expect(running).to.include('other');
    let ended = 0;
    const all = Promise.all([...theirs, other]).then(() => (ended = -1));
    while (ended !== -1) {
      for (; ended >= 0 && ended < reading.length; ended += 1) reading[ended]!.end();
      await new Promise((done) => setImmediate(done));
    }
    await all;
    expect(reading).to.have.length(READ_LIMITS.pending.perKey + 1);
  });
});
