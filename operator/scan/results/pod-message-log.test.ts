import { expect } from 'chai';
import { NOW, SCAN_ID, endedPod, failedBy, progress, storedBy } from '../../../test/support/scan-samples.ts';
import { createPodMessageLog, readPodMessage, terminationMessage } from './pod-message-log.ts';

const payload = (message: unknown) => Buffer.from(JSON.stringify(message));

describe('pod messages', () => {
  it('are read where they are whole, of this scan, and not too long', () => {
    expect(readPodMessage(payload(storedBy('a')), SCAN_ID)).to.deep.equal(storedBy('a'));
    for (const bad of [
      '',
      '{',
      'null',
      '[]',
      JSON.stringify({ ...storedBy('a'), more: 1 }),
      JSON.stringify({ ...progress('a'), phase: 'done' }),
    ])
      expect(readPodMessage(bad, SCAN_ID), bad).to.equal(null);
    expect(readPodMessage(payload(storedBy('a')), 'other')).to.equal(null);
    expect(readPodMessage(payload({ ...progress('a'), pages: { scanned: -1, failed: 0, total: 0 } }), SCAN_ID)).to.equal(null);
    expect(readPodMessage(Buffer.from([0xff]), SCAN_ID)).to.equal(null);
    expect(readPodMessage(`${JSON.stringify(storedBy('a'))}${' '.repeat(4096)}`, SCAN_ID)).to.equal(null);
  });

  it('end a scan by the termination message only where it is a last word', () => {
    expect(terminationMessage(endedPod('a', 0, storedBy('a')), SCAN_ID)).to.deep.equal(storedBy('a'));
    expect(terminationMessage(endedPod('a', 42, failedBy('a')), SCAN_ID)).to.deep.equal(failedBy('a'));
    expect(terminationMessage(endedPod('a', 1, failedBy('a')), SCAN_ID)).to.equal(null);
    expect(terminationMessage(endedPod('a', 0, progress('a')), SCAN_ID)).to.equal(null);
    expect(terminationMessage(endedPod('a', 0), SCAN_ID)).to.equal(null);
  });

  it('are news once, and within an attempt only forwards', () => {
    const podMessages = createPodMessageLog();
    const take = (message: unknown) => podMessages.take(SCAN_ID, payload(message), NOW);
    expect(take(progress('a', { sequence: 2 }))).to.equal('news');
    expect(take(progress('a', { sequence: 2 }))).to.equal('repeat');
    expect(take(progress('a', { sequence: 1 }))).to.equal('repeat');
    expect(take(progress('b', { sequence: 0 }))).to.equal('news');
    expect(take(storedBy('b'))).to.equal('news');
    expect(take(storedBy('b'))).to.equal('repeat');
    expect(take('?')).to.equal('refused');
    expect(podMessages.of(SCAN_ID)).to.deep.equal({ progress: progress('b', { sequence: 0 }), at: NOW, words: [storedBy('b')] });
    podMessages.forget(SCAN_ID);
    expect(podMessages.of(SCAN_ID).words).to.deep.equal([]);
  });

  it('do not fill the memory, whatever a pod makes up', () => {
    const podMessages = createPodMessageLog();
    for (let index = 0; index < 1000; index += 1) {
      podMessages.take(SCAN_ID, payload(progress(`made-up-${index}`)), NOW);
      podMessages.take(SCAN_ID, payload(storedBy(`made-up-${index}`)), NOW);
    }
    expect(podMessages.of(SCAN_ID).progress?.attempt).to.equal('made-up-15');
    expect(podMessages.of(SCAN_ID).words).to.have.length(4);
  });
});
