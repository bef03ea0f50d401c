import { expect } from 'chai';
import { waitNote } from '../../cli/commands/output.ts';

describe('the note of a wait', () => {
  const notes = (waits: readonly [string, number][]): string[] => {
    const told: string[] = [];
    const note = waitNote({ note: (text: string) => told.push(text) } as never);
    for (const [why, seconds] of waits) note(why, seconds);
    return told;
  };

  it('says why, and for how long', () => {
    expect(notes([['The queue is paused', 30]])).to.deep.equal(['The queue is paused; trying again in 30 s.']);
    expect(notes([['The stream is silent', 0]])).to.deep.equal(['The stream is silent.']);
  });

  it('says the same once a minute, not at every try', () => {
    const away = Array.from({ length: 16 }, (): [string, number] => ['It cannot be reached', 8]);
    expect(notes(away)).to.deep.equal(['It cannot be reached; trying again in 8 s.', 'It cannot be reached; still trying.']);
  });

  it('says other news at once', () => {
    expect(
      notes([
        ['A', 1],
        ['B', 1],
        ['A', 1],
      ]),
    ).to.have.lengthOf(3);
  });
});
