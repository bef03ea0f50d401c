import { expect } from 'chai';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import type { NamespaceOwner } from './policy/facts.ts';
import { createTurns, laneOf, TURN_EVERY_MS, TURNS_AT_ONCE, TURNS_OF_START } from './turns.ts';

describe('turns of schedules', () => {
  /** Milliseconds that the work of each of `count` schedules waits. */
  const waitsOf = (turn: () => number, now: number, count: number): number[] =>
    Array.from({ length: count }, () => Math.max(0, turn() - now));

  it('belong to an organisation, and to nobody else while it is not known, as during an outage of MongoDB', () => {
    const of = (owner: NamespaceOwner, namespace: string, name: string) =>
      laneOf({ owner, schedule: { metadata: { namespace, name } } as ScanSchedule, apiNamespace: 'scans' });
    const owned = { state: 'owned', organisation: 'ash', blocked: false } as const;
    expect(of(owned, 'scans', 'a')).to.equal(of(owned, 'team', 'b'));
    const unknown = { state: 'unknown' } as const;
    const lanes = [of(owned, 'team', 'a'), of(unknown, 'ash', 'a'), of(unknown, 'scans', 'a'), of(unknown, 'scans', 'b')];
    expect(new Set(lanes).size).to.equal(lanes.length);
  });

  it('gives an organisation some turns at once, then one after the other, and each organisation its own', () => {
    let now = 5_000_000;
    const take = createTurns(() => now);
    const waits = waitsOf(() => take('ash', 1), now, TURNS_AT_ONCE + 4);
    expect(waits.slice(TURNS_AT_ONCE - 1)).to.deep.equal([0, 0, 1, 2, 3].map((late) => late * TURN_EVERY_MS));
    expect(waitsOf(() => take('birch', 1), now, 1)).to.deep.equal([0]);
    now += 10 * TURN_EVERY_MS;
    expect(
      waitsOf(() => take('ash', 1), now, 9).filter((wait) => wait === 0),
      'after a while',
    ).to.have.length(7);
    now += 3_600_000;
    expect(waitsOf(() => take('ash', 1), now, TURNS_AT_ONCE + 2).at(-1), 'after a pause').to.equal(TURN_EVERY_MS);
  });

  it('lets three scans start at once, then two a second, because a start is followed by a status', () => {
    const take = createTurns(() => 5_000_000);
    const starts = waitsOf(
      () => {
        const at = take('ash', TURNS_OF_START);
        take('ash', 1);
        return at;
      },
      5_000_000,
      6,
    );
    expect(starts).to.deep.equal([0, 0, 0, 500, 1_000, 1_500]);
  });
});
