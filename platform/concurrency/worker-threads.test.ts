import { expect } from 'chai';
import { InputRefused, nextMessage, startThread } from './worker-threads.ts';

const run = (code: string, options?: Parameters<typeof nextMessage>[1]): Promise<unknown> => {
  const source = `import { parentPort, workerData } from 'node:worker_threads';\n${code}`;
  const thread = startThread(new URL(`data:text/javascript,${encodeURIComponent(source)}`), 32, 'given');
  return nextMessage(thread, options)
    .catch((error: unknown) => error)
    .finally(() => thread.terminate());
};

describe('worker threads', () => {
  it('answer what they are given, without the environment but for the compile cache', async () => {
    const { NODE_COMPILE_CACHE } = process.env;
    const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
    expect(await run('parentPort.postMessage([workerData, { ...process.env }])')).to.deep.equal(['given', cache]);
  });

  it('refuse an input that exhausts their memory or their time, or that they fail on', async () => {
    for (const [code, reason] of [
      ['const all = []; for (;;) all.push(new Array(1e6).fill(all.length));', /ERR_WORKER_OUT_OF_MEMORY/],
      ['throw new RangeError("too deep")', /too deep/],
      ['for (;;);', /too long/],
    ] as const)
      expect(await run(code, { timeoutMs: reason.source === 'too long' ? 500 : 30_000 }))
        .to.be.instanceOf(InputRefused)
        .with.property('reason')
        .that.matches(reason);
  });

  it('fail otherwise, so that the caller may try again', async () => {
    expect(await run('process.exit(0)'))
      .to.be.an('error')
      .with.property('message')
      .that.includes('exited');
    expect(await run('for (;;);', { signal: AbortSignal.timeout(100) })).to.have.property('name', 'TimeoutError');
  });
});
