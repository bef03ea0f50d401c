import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { LARGE_EXPORT_BYTES } from '../../../report/schema/export-size.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { SCAN_ID, launched, scanWith } from '../../../test/support/scan-samples.ts';
import { createVerifier, type VerifyThread } from './verifier.ts';
import type { Expectation, Verified } from './verify.ts';

const expected: Expectation = {
  scanId: SCAN_ID,
  options: withDefaults(scanWith(launched()).spec),
  reserved: 5,
  announced: { scanned: 2, failed: 0 },
};
const REFUSED: Verified = { judgement: { ok: false, reason: 'no.' }, visits: [], view: null, unmatchedIssues: [], issueExamples: {} };
const small = { export: new Uint8Array(10), pictures: null };

/** A thread that verifies what the test says. */
class FakeThread extends EventEmitter {
  readonly memoryMib: number;
  given = 0;
  terminated = false;
  constructor(memoryMib: number) {
    super();
    this.memoryMib = memoryMib;
  }
  postMessage(): void {
    this.given += 1;
  }
  async terminate(): Promise<number> {
    this.terminated = true;
    this.emit('exit', 1);
    return 1;
  }
  ref(): void {}
  unref(): void {}
}

describe('verifier', () => {
  function open() {
    const threads: FakeThread[] = [];
    let idle: (() => void) | null = null;
    const verifier = createVerifier({
      memoryMib: 1024,
      clock: {
        after(_ms, run) {
          idle = run;
          return () => (idle = null);
        },
      },
      startThread(memoryMib) {
        const thread = new FakeThread(memoryMib);
        threads.push(thread);
        return thread as unknown as VerifyThread;
      },
    });
    return { verifier, threads, becomeIdle: () => idle!() };
  }

  it('has a thread ready, uses it for one export, and then starts the next one', async () => {
    const { verifier, threads } = open();
    verifier.start();
    verifier.expect();
    expect(threads).to.have.length(1);
    for (let used = 0; used < 3; used += 1) {
      const verifying = verifier.verify(small, expected);
      expect(threads).to.have.length(used + 1);
      threads[used]!.emit('message', REFUSED);
      expect(await verifying).to.equal(REFUSED);
      expect(threads[used]).to.include({ given: 1, terminated: true });
      expect(threads).to.have.length(used + 2);
    }
    verifier.stop();
    expect(threads.every(({ terminated }) => terminated)).to.equal(true);
  });

  it('never shares a thread between exports that are verified at the same time', async () => {
    const { verifier, threads } = open();
    verifier.start();
    verifier.expect();
    const both = [verifier.verify(small, expected), verifier.verify(small, expected)];
    expect(threads.map(({ given }) => given)).to.deep.equal([1, 1]);
    for (const thread of [...threads]) thread.emit('message', REFUSED);
    await Promise.all(both);
    expect(threads.map(({ given }) => given)).to.deep.equal([1, 1, 0]);
  });

  it('gives a large export a thread with the full memory', async () => {
    const { verifier, threads } = open();
    verifier.start();
    verifier.expect();
    const verifying = verifier.verify({ ...small, export: new Uint8Array(LARGE_EXPORT_BYTES + 1) }, expected);
    expect(threads.map(({ memoryMib, given }) => [memoryMib, given])).to.deep.equal([
      [304, 0],
      [1024, 1],
    ]);
    threads[1]!.emit('message', REFUSED);
    await verifying;
    expect(threads, 'the thread that was ready is still ready').to.have.length(2);
  });

  it('ends the thread if the signal aborts, and replaces one that dies', async () => {
    const { verifier, threads } = open();
    verifier.start();
    verifier.expect();
    const stop = new AbortController();
    const verifying = verifier.verify(small, expected, stop.signal);
    stop.abort(new Error('lease lost'));
    expect(await verifying.catch((error: Error) => error.message)).to.equal('lease lost');
    expect(threads[0]!.terminated).to.equal(true);
    threads[1]!.emit('exit', 1);
    const next = verifier.verify(small, expected);
    expect(threads.map(({ given }) => given)).to.deep.equal([1, 0, 1]);
    threads[2]!.emit('error', Object.assign(new Error('no thread'), { code: 'ERR_WORKER_INIT_FAILED' }));
    expect(await next.catch((error: Error) => error.message)).to.equal('no thread');
  });

  it('refuses an export that exhausts the memory of its thread or ends it with an error', async () => {
    const { verifier, threads } = open();
    verifier.start();
    verifier.expect();
    for (const [error, reason] of [
      [Object.assign(new Error('out of memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }), /ERR_WORKER_OUT_OF_MEMORY/],
      [new RangeError('Maximum call stack size exceeded'), /Maximum call stack/],
    ] as const) {
      const verifying = verifier.verify(small, expected);
      threads.at(-1)!.emit('error', error);
      expect((await verifying).judgement)
        .to.have.property('reason')
        .that.matches(reason);
    }
  });

  it('keeps no thread while no export is expected', async () => {
    const { verifier, threads, becomeIdle } = open();
    verifier.start();
    expect(threads).to.have.length(0);
    verifier.expect();
    verifier.expect();
    expect(threads).to.have.length(1);
    becomeIdle();
    expect(threads[0]!.terminated).to.equal(true);
    const verifying = verifier.verify(small, expected);
    expect(threads).to.have.length(2);
    threads[1]!.emit('message', REFUSED);
    await verifying;
    verifier.stop();
    verifier.expect();
    expect(threads.map(({ terminated }) => terminated)).to.deep.equal([true, true, true]);
  });

  it('verifies in a real thread', async () => {
    const verifier = createVerifier({ memoryMib: 256 });
    verifier.start();
    const { judgement } = await verifier.verify({ ...small, export: Buffer.from('{}') }, expected);
    expect(judgement).to.deep.include({ ok: false });
    verifier.stop();
  });
});
