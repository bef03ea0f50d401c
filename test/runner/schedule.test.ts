import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { runShared, type SharedTask } from '../cluster/schedule.ts';

/** Tasks that record what ran at the same time. */
function recorded() {
  const log: string[] = [];
  const running = new Map<string, number>();
  let mostProcesses = 0;
  let mostShare = 0;
  const task = (name: string, share: number, ready: Promise<void> = Promise.resolve()): SharedTask => ({
    share,
    ready,
    async run() {
      log.push(name);
      running.set(name, share);
      mostProcesses = Math.max(mostProcesses, running.size);
      mostShare = Math.max(
        mostShare,
        [...running.values()].reduce((sum, each) => sum + each, 0),
      );
      await sleep(5);
      running.delete(name);
      if (name.startsWith('throws')) throw new Error(name);
    },
    failed: (error) => log.push(`failed: ${(error as Error).message}`),
  });
  return { log, task, most: () => ({ mostProcesses, mostShare }) };
}

describe('schedule of tasks that share a node', () => {
  it('runs every task, within the number of processes and the room on the node', async () => {
    const { log, task, most } = recorded();
    await runShared([task('a', 0), task('b', 0.5), task('c', 0.5), task('d', 1), task('e', 1), task('f', 0), task('g', 0)], 3);
    expect(log.toSorted().join('')).to.equal('abcdefg');
    expect(log.slice(0, 3)).to.deep.equal(['a', 'b', 'c']);
    expect(most()).to.deep.equal({ mostProcesses: 3, mostShare: 1 });
  });

  it('starts tasks that are ready while others wait', async () => {
    const { log, task } = recorded();
    const secondRuns = Promise.withResolvers<void>();
    const second = task('second', 1);
    const run = (): Promise<void> => (secondRuns.resolve(), second.run());
    await runShared([task('late', 0.5, secondRuns.promise), task('first', 0), { ...second, run }], 1);
    expect(log).to.deep.equal(['first', 'second', 'late']);
  });

  it('reports tasks whose precondition failed or that threw, and runs the others', async () => {
    const { log, task } = recorded();
    await runShared([task('never', 0, Promise.reject(new Error('no images'))), task('throws', 0), task('a', 0)], 1);
    expect(log.toSorted()).to.deep.equal(['a', 'failed: no images', 'failed: throws', 'throws']);
  });
});
