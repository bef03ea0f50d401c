import { expect } from 'chai';
import type { Report } from '../../report/schema/report.ts';
import { digestOf } from '../../test/support/scan-results.ts';
import { silentLogger } from '../../test/support/silent-logger.ts';
import { storeResults, type StoreDeps } from './pod.ts';
import { PDF_MAX_BYTES } from '../../core/protocol/pod-messages.ts';
import { ScanFailed } from './failure.ts';
import { UploadFailed } from './object-store.ts';

const fitted = {
  report: {} as Report,
  text: new TextEncoder().encode('{}'),
  pictures: { places: [], pagePlaces: [], object: new Uint8Array() },
};
const about = { version: '0.1.0', scanId: 'one', attempt: 0, shard: 0, pages: { scanned: 1, failed: 0, total: 1 } };
const uploads = {
  export: 'https://store/export',
  pdf: 'https://store/pdf',
  pictures: 'https://store/pictures',
  result: 'https://store/result',
};

describe('storing the results', () => {
  /** Stores with a clock whose heartbeats the test triggers. @param put called for each object */
  function start(put: (url: string) => Promise<void> | void, more: Partial<StoreDeps> = {}) {
    const beats: (() => void)[] = [];
    const objects: string[] = [];
    let sent = 0;
    const signal = new AbortController().signal;
    const message = storeResults(fitted, about, {
      uploads,
      renderPdf: async () => Buffer.from('%PDF-'),
      traced: (_step, work) => work(),
      log: silentLogger,
      signal,
      terminated: signal,
      onGenerating: () => (sent += 1),
      every: (_ms, run) => {
        beats.push(run);
        return () => void beats.pop();
      },
      async put(url, body) {
        await put(url);
        objects.push(url);
        return digestOf(body);
      },
      ...more,
    });
    return { message, beats, objects, sent: () => sent };
  }

  it('stores the statement last, which is the last message', async () => {
    const { message, objects } = start(() => undefined);
    expect(await message).to.deep.equal({
      kind: 'stored',
      ...about,
      export: digestOf(Buffer.from('{}')),
      pdf: digestOf(Buffer.from('%PDF-')),
    });
    expect(objects).to.deep.equal([uploads.export, uploads.pdf, uploads.result]);
  });

  it('fails permanently if the PDF is too large, because another attempt would make the same one', async () => {
    const { message, objects } = start(() => undefined, { renderPdf: async () => new Uint8Array(PDF_MAX_BYTES + 1) });
    const error = await message.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ScanFailed).with.property('reason', 'report_too_large');
    expect(error).to.have.property('message', 'The PDF of this scan is larger than the limit of 67,108,864 bytes. Scan fewer pages.');
    expect(objects).not.to.include(uploads.result);
  });

  it('keeps reporting that it works while the object store is down, and stops afterwards', async () => {
    for (const slow of [uploads.export, uploads.pdf, uploads.result]) {
      const outage = Promise.withResolvers<void>();
      const waiting = Promise.withResolvers<void>();
      const { message, beats, sent } = start(async (url) => {
        if (url !== slow) return;
        waiting.resolve();
        await outage.promise;
      });
      await waiting.promise;
      while (beats.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const before = sent();
      for (let beat = 0; beat < 90; beat += 1) beats[0]!();
      expect(sent() - before).to.equal(90);
      outage.resolve();
      await message;
      expect(beats).to.deep.equal([]);
    }
  });

  it('succeeds if only the statement is rejected, unless the process must end', async () => {
    const reject = (url: string) => {
      if (url === uploads.result) throw new UploadFailed('rejected');
    };
    expect((await start(reject).message).kind).to.equal('stored');
    const terminated = AbortSignal.abort(new Error('received SIGTERM'));
    const error = await start(reject, { terminated }).message.catch((thrown: Error) => thrown);
    expect(error).to.be.an('error').with.property('message', 'received SIGTERM');
  });

  it('fails if the export or the PDF is rejected', async () => {
    for (const url of [uploads.export, uploads.pdf]) {
      const { message, beats } = start((put) => {
        if (put === url) throw new UploadFailed('rejected');
      });
      expect(await message.catch((thrown: unknown) => thrown)).to.be.instanceOf(UploadFailed);
      expect(beats).to.deep.equal([]);
    }
  });
});
