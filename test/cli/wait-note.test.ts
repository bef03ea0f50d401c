import { expect } from 'chai';
import { waitNote } from '../../cli/commands/output.ts';

describe('wait notices', () => {
  const notes = (waits: readonly [string, number][]): string[] => {
    const shown: string[] = [];
    const note = waitNote({ note: (text: string) => shown.push(text) } as never);
    for (const [why, seconds] of waits) note(why, seconds);
    return shown;
  };

  it('state the reason and the length of the wait', () => {
    expect(notes([['The queue is paused', 30]])).to.deep.equal(['The queue is paused; retrying in 30 s.']);
    expect(notes([['The stream is silent', 0]])).to.deep.equal(['The stream is silent.']);
  });

  it('repeat the same notice once a minute, not at every attempt', () => {
    const repeated = Array.from({ length: 16 }, (): [string, number] => ['It cannot be reached', 8]);
    expect(notes(repeated)).to.deep.equal(['It cannot be reached; retrying in 8 s.', 'It cannot be reached; still retrying.']);
  });

  it('show a different notice at once', () => {
    expect(
      notes([
        ['A', 1],
        ['B', 1],
        ['A', 1],
      ]),
    ).to.have.lengthOf(3);
  });
});
