import { expect } from 'chai';
import type { Pod } from '../kube-types.ts';
import { NOW, SCAN_ID, endedPod, failedBy, progress, runningPod, storedBy } from '../../../test/support/scan-samples.ts';
import { createPodMessageLog, readPodMessage, terminationMessage } from './pod-message-log.ts';

const NOTHING = { progress: null, at: null, final: [] };
const payload = (message: unknown) => Buffer.from(JSON.stringify(message));

describe('pod message', () => {
  it('is read if it matches the schema, the scan and the size limit', () => {
    expect(readPodMessage(payload(storedBy(0)), SCAN_ID)).to.deep.equal(storedBy(0));
    const newer = { ...storedBy(0), more: 1 };
    expect(readPodMessage(payload(newer), SCAN_ID), 'of a newer version').to.deep.equal(newer);
    for (const bad of [
      '',
      '{',
      'null',
      '[]',
      JSON.stringify({ ...progress(0), phase: 'done' }),
      JSON.stringify(storedBy(-1)),
      JSON.stringify(storedBy(0.5)),
      JSON.stringify({ ...storedBy(0), attempt: 'pod-0' }),
      JSON.stringify({ ...storedBy(0), shard: undefined }),
      JSON.stringify({ ...storedBy(0), shard: 1 }),
    ])
      expect(readPodMessage(bad, SCAN_ID), bad).to.equal(null);
    expect(readPodMessage(payload(storedBy(0)), 'other')).to.equal(null);
    expect(readPodMessage(payload({ ...progress(0), pages: { scanned: -1, failed: 0, total: 0 } }), SCAN_ID)).to.equal(null);
    expect(readPodMessage(Buffer.from([0xff]), SCAN_ID)).to.equal(null);
    expect(readPodMessage(`${JSON.stringify(storedBy(0))}${' '.repeat(4096)}`, SCAN_ID)).to.equal(null);
  });

  it("is read from a terminated pod only if it is that pod's final message", () => {
    expect(terminationMessage(endedPod(0, 0, storedBy(0)), SCAN_ID)).to.deep.equal(storedBy(0));
    expect(terminationMessage(endedPod(0, 42, failedBy(0)), SCAN_ID)).to.deep.equal(failedBy(0));
    for (const killed of [1, 137]) expect(terminationMessage(endedPod(0, killed, failedBy(0)), SCAN_ID)).to.equal(null);
    expect(terminationMessage(endedPod(0, 0, progress(0)), SCAN_ID)).to.equal(null);
    expect(terminationMessage(endedPod(0, 0), SCAN_ID)).to.equal(null);
    expect(terminationMessage(endedPod(0, 0, storedBy(1)), SCAN_ID)).to.equal(null);
    expect(terminationMessage(endedPod(1, 0, storedBy(0)), SCAN_ID)).to.equal(null);
  });

  describe('log', () => {
    const logOf = (pods: Pod[]) => {
      const log = createPodMessageLog();
      return { log, take: (message: unknown, now: Pod[] = pods) => log.take(SCAN_ID, payload(message), now, NOW) };
    };

    it('reports a message as news once and keeps the newest progress', () => {
      const { log, take } = logOf([endedPod(0, 1), runningPod(1)]);
      expect(take(progress(0, { sequence: 2 }))).to.equal('news');
      expect(take(progress(0, { sequence: 2 }))).to.equal('repeat');
      expect(take(progress(0, { sequence: 1 }))).to.equal('repeat');
      expect(take(progress(1, { sequence: 0 }))).to.equal('news');
      expect(take(progress(0, { sequence: 3 }))).to.equal('repeat');
      expect(take(storedBy(1))).to.equal('news');
      expect(take(storedBy(1))).to.equal('repeat');
      expect(take('?')).to.equal('refused');
      expect(log.of(SCAN_ID)).to.deep.equal({ progress: progress(1, { sequence: 0 }), at: NOW, final: [storedBy(1)] });
      log.forget(SCAN_ID);
      expect(log.of(SCAN_ID)).to.deep.equal(NOTHING);
    });

    it('refuses messages of an attempt that no pod has had', () => {
      const { log, take } = logOf([runningPod(0)]);
      expect(take(storedBy(0), [])).to.equal('refused');
      expect(take(progress(1))).to.equal('refused');
      expect(take(storedBy(1))).to.equal('refused');
      expect(log.of(SCAN_ID)).to.deep.equal(NOTHING);
    });

    it('keeps the real message if an earlier pod forges one for a later attempt', () => {
      const { log, take } = logOf([runningPod(0)]);
      const invented = { ...storedBy(1), export: { bytes: 1, sha256: 'c'.repeat(64) } };
      expect(take(invented)).to.equal('refused');
      expect(take(storedBy(1), [endedPod(0, 1), runningPod(1)])).to.equal('news');
      expect(log.of(SCAN_ID).final).to.deep.equal([storedBy(1)]);
    });

    it('bounds the stored messages of a pod that publishes forged attempts', () => {
      const { log, take } = logOf([runningPod(999)]);
      for (let attempt = 0; attempt < 1000; attempt += 1) {
        take(progress(attempt));
        take(storedBy(attempt));
      }
      expect(log.of(SCAN_ID).progress?.attempt).to.equal(999);
      expect(log.of(SCAN_ID).final).to.have.length(4);
    });
  });
});
