import { expect } from 'chai';
import type { WaitingLine } from '../../stores/submissions/queue-state.ts';
import { createQueuePositions } from './queue-positions.ts';

describe('queue positions', () => {
  let now: number;
  let reads: string[];
  let lines: Record<string, WaitingLine>;
  let readLine: (queue: string) => Promise<WaitingLine | null>;
  beforeEach(() => {
    now = 0;
    reads = [];
    lines = { default: { waiting: 2, order: ['a', 'b'] }, nightly: { waiting: 3, order: ['c', 'd'] } };
    readLine = async (queue) => lines[queue] ?? null;
  });
  const create = () =>
    createQueuePositions({
      queueStates: {
        readLine: (queue) => {
          reads.push(queue);
          return readLine(queue);
        },
      },
      monotonic: () => now,
      cacheMs: 2_000,
    });
  const waits = (id: string, queue?: string) => ({ id, phase: 'queued' as const, ...(queue !== undefined && { queue }) });

  it('are 1-based, in the queue of the scan', async () => {
    const ask = create();
    expect(await ask(waits('b'))).to.deep.equal({ name: 'default', position: 2, waiting: 2 });
    expect(await ask(waits('c', 'nightly'))).to.deep.equal({ name: 'nightly', position: 1, waiting: 3 });
  });

  it('are null behind those that are mirrored, and absent for a scan that no longer waits', async () => {
    const ask = create();
    expect(await ask(waits('x', 'nightly'))).to.deep.equal({ name: 'nightly', position: null, waiting: 3 });
    expect(await ask(waits('x'))).to.equal(undefined);
    expect(await ask(waits('x', 'missing'))).to.equal(undefined);
  });

  it('are not read for a scan in another phase', async () => {
    expect(await create()({ id: 'a', phase: 'crawling' })).to.equal(undefined);
    expect(reads).to.deep.equal([]);
  });

  it('are read once per queue in two seconds, however many polls arrive', async () => {
    const ask = create();
    await Promise.all(Array.from({ length: 50 }, () => ask(waits('a'))));
    await ask(waits('c', 'nightly'));
    now += 1_999;
    await ask(waits('b'));
    expect(reads).to.deep.equal(['default', 'nightly']);
    lines['default'] = { waiting: 1, order: ['b'] };
    now += 1;
    expect(await ask(waits('b'))).to.deep.equal({ name: 'default', position: 1, waiting: 1 });
    expect(reads).to.have.length(3);
  });

  it('are absent during an outage, which costs one query in two seconds', async () => {
    const ask = create();
    readLine = () => Promise.reject(new Error('down'));
    expect(await ask(waits('a'))).to.equal(undefined);
    expect(await ask(waits('a'))).to.equal(undefined);
    expect(reads).to.have.length(1);
    readLine = async (queue) => lines[queue] ?? null;
    now += 2_000;
    expect(await ask(waits('a'))).to.include({ position: 1 });
  });
});
