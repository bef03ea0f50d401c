import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseSchedule } from '../times.ts';

interface Answer {
  refused?: boolean;
  runs?: string[];
}

/** What robfig/cron answers, and `curbcut` where our answer differs on purpose. */
interface Case extends Answer {
  schedule: string;
  timeZone?: string;
  after: string;
  count: number;
  curbcut?: Answer & { because: string };
}

const CASES = JSON.parse(readFileSync('test/support/robfig-cron/times.json', 'utf8')) as Case[];

function answerOf({ schedule, timeZone, after, count }: Case): Answer {
  const parsed = parseSchedule(schedule, timeZone);
  if (!parsed.ok) return { refused: true };
  const runs: string[] = [];
  for (let next = parsed.times.next(new Date(after)); next !== null && runs.length < count; next = parsed.times.next(next))
    runs.push(next.toISOString().replace('.000Z', 'Z'));
  return { runs };
}

describe("a schedule, compared with CronJob's parser robfig/cron", () => {
  for (const { curbcut, ...theirs } of CASES) {
    const title = `"${theirs.schedule}" in ${theirs.timeZone ?? 'UTC'} after ${theirs.after}`;
    if (curbcut === undefined)
      it(`answers the same for ${title}`, () => {
        const { refused, runs = [] } = theirs;
        expect(answerOf(theirs)).to.deep.equal(refused === true ? { refused } : { runs });
      });
    else
      it(`answers otherwise for ${title}: ${curbcut.because}`, () => {
        const { because: _, ...ours } = curbcut;
        expect(answerOf(theirs)).to.deep.equal(ours);
        expect(ours).not.to.deep.equal({ runs: theirs.runs ?? [] });
      });
  }
});
