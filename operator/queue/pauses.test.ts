import { expect } from 'chai';
import { NOW, ago, scanWith, secondsAgo } from '../../test/support/scan-samples.ts';
import { PAUSES_MAX, pausesAfter, waitedMs } from './waiting.ts';

const pause = (from: number, to?: number) => ({ startTime: ago(from), ...(to !== undefined && { endTime: ago(to) }) });

describe('the pauses of a queue', () => {
  it('begin and end with the first look that sees a change', () => {
    expect(pausesAfter([], false, NOW)).to.deep.equal([]);
    expect(pausesAfter([], true, NOW)).to.deep.equal([pause(0)]);
    expect(pausesAfter([pause(60)], true, NOW)).to.deep.equal([pause(60)]);
    expect(pausesAfter([pause(60)], false, NOW)).to.deep.equal([pause(60, 0)]);
    expect(pausesAfter([pause(60, 30)], true, NOW)).to.deep.equal([pause(60, 30), pause(0)]);
  });

  it('are bounded, and none of them is lost', () => {
    const many = Array.from({ length: PAUSES_MAX }, (_, index) => pause(1000 - 10 * index, 995 - 10 * index));
    const after = pausesAfter(many, true, NOW);
    expect(after).to.have.length(PAUSES_MAX);
    expect(after[0]).to.deep.equal(pause(1000, 985));
    expect(after.at(-1)).to.deep.equal(pause(0));
  });

  it('are no waiting time, from the creation of the scan', () => {
    const waited = (...pauses: ReturnType<typeof pause>[]) => waitedMs(scanWith(), pauses, NOW) / 1000;
    expect(waited()).to.equal(600);
    expect(waited(pause(500, 400), pause(100, 50))).to.equal(450);
    expect(waited(pause(9000, 800)), 'before its creation').to.equal(600);
    expect(waited(pause(9000, 400)), 'at its creation').to.equal(400);
    expect(waited(pause(200)), 'still paused').to.equal(400);
    expect(waited(pause(900)), 'paused all the time').to.equal(0);
    expect(waitedMs(scanWith(), [pause(500, -100)], secondsAgo(300)), 'a clock that was set back').to.equal(100_000);
  });
});
