import { expect } from 'chai';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { STREAMS_PER_KEY } from '../http/errors.ts';
import { createOpenStreams, type OpenStreamsDeps, type Place } from './event-streams.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nothing = (): void => undefined;

/** Opens a stream. @throws if it is refused */
function mustOpen(place: Place): Extract<Place, { ok: true }> {
  if (!place.ok) throw new Error(place.reason);
  return place;
}

describe('createOpenStreams', () => {
  let usable: Set<string> | Error;
  let checks: string[][];
  let open: number;
  const logger = createFakeLogger();
  beforeEach(() => {
    usable = new Set(['a', 'b', 'c']);
    checks = [];
    open = 0;
  });
  const create = (more: Partial<OpenStreamsDeps> = {}) =>
    createOpenStreams({
      usable: (credentials) => {
        checks.push([...credentials]);
        return usable instanceof Error ? Promise.reject(usable) : Promise.resolve(usable);
      },
      max: 1000,
      checkMs: 5,
      logger,
      onChange: (change) => (open += change),
      ...more,
    });
  async function nextCheck(): Promise<void> {
    const before = checks.length;
    while (checks.length === before) await pause(1);
    await pause(1);
  }

  it('limits the streams of a credential, of an organisation and of the replica', () => {
    const streams = create({ max: 100 });
    const openMany = (count: number, credential: string, organisation: string) =>
      Array.from({ length: count }, () => mustOpen(streams.open({ credential, organisation }, nothing)));
    const refusal = (credential: string, organisation: string) => {
      const place = streams.open({ credential, organisation }, nothing);
      return place.ok ? null : place.reason;
    };
    const places = openMany(STREAMS_PER_KEY, 'a', 'acme');
    expect(refusal('a', 'acme')).to.equal('key');
    places.push(...openMany(5, 'b', 'acme'));
    expect(refusal('b', 'acme'), 'a quarter of the replica').to.equal('organisation');
    for (const organisation of ['x', 'y', 'z'])
      places.push(...openMany(20, `${organisation}1`, organisation), ...openMany(5, organisation, organisation));
    expect(refusal('c', 'globex')).to.equal('replica');
    places[0]!.close();
    places[0]!.close();
    expect(open).to.equal(99);
    places.push(...openMany(1, 'c', 'globex'));
    for (const place of places) place.close();
    expect(open).to.equal(0);
  });

  it('checks the credentials of all streams with one call, and ends the streams of those that may not be used', async () => {
    const streams = create();
    const places = ['a', 'a', 'b', 'b', 'c'].map((credential) => mustOpen(streams.open({ credential, organisation: 'acme' }, nothing)));
    await nextCheck();
    expect(checks[0]).to.deep.equal(['a', 'b', 'c']);
    expect(places.map(({ signal }) => signal.aborted)).to.deep.equal([false, false, false, false, false]);
    usable = new Set(['b']);
    await nextCheck();
    expect(places.map(({ signal }) => signal.aborted)).to.deep.equal([true, true, false, false, true]);
    for (const place of places) place.close();
  });

  it('keeps streams while credentials cannot be checked, and checks again', async () => {
    const streams = create();
    const place = mustOpen(streams.open({ credential: 'a', organisation: 'acme' }, nothing));
    usable = new Error('no primary');
    await nextCheck();
    await nextCheck();
    expect(place.signal.aborted).to.equal(false);
    usable = new Set();
    await nextCheck();
    expect(place.signal.aborted).to.equal(true);
    place.close();
  });

  it('ends a stream that is opened while the replica closes', () => {
    const streams = create();
    const before = mustOpen(streams.open({ credential: 'a', organisation: 'acme' }, nothing));
    streams.end();
    const during = mustOpen(streams.open({ credential: 'a', organisation: 'acme' }, nothing));
    expect([before.signal.aborted, during.signal.aborted]).to.deep.equal([true, true]);
    before.close();
    during.close();
  });

  it('disconnects a client that does not read the end of its stream', async () => {
    const streams = create();
    const disconnected: string[] = [];
    const stuck = mustOpen(streams.open({ credential: 'a', organisation: 'acme' }, () => disconnected.push('stuck')));
    const quick = mustOpen(streams.open({ credential: 'a', organisation: 'acme' }, () => disconnected.push('quick')));
    streams.end();
    quick.close();
    while (disconnected.length === 0) await pause(10);
    expect(disconnected).to.deep.equal(['stuck']);
    stuck.close();
  });
});
