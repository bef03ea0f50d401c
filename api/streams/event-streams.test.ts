import { expect } from 'chai';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { STREAMS_PER_KEY } from '../http/errors.ts';
import { createOpenStreams, type OpenStreamsDeps, type Place } from './event-streams.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A stream that records what happens to it. */
function fakeStream({ reads = true } = {}) {
  const stream = {
    ended: false,
    disconnected: false,
    keepAlive: () => reads,
    end: () => void (stream.ended = true),
    disconnect: () => void (stream.disconnected = true),
  };
  return stream;
}

/** Opens a stream. @throws if it is refused */
function mustOpen(place: Place): Extract<Place, { ok: true }> {
  if (!place.ok) throw new Error(place.reason);
  return place;
}

describe('createOpenStreams', () => {
  let usable: Set<string> | Error;
  let checks: string[][];
  let open: number;
  let slow: number;
  const logger = createFakeLogger();
  beforeEach(() => {
    usable = new Set(['a', 'b', 'c']);
    checks = [];
    open = slow = 0;
  });
  const create = (more: Partial<OpenStreamsDeps> = {}) =>
    createOpenStreams({
      usable: (credentials) => {
        checks.push([...credentials]);
        return usable instanceof Error ? Promise.reject(usable) : Promise.resolve(usable);
      },
      max: 1000,
      checkMs: 5,
      keepaliveMs: 5,
      logger,
      onChange: (change) => (open += change),
      onSlow: () => (slow += 1),
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
      Array.from({ length: count }, () => mustOpen(streams.open({ credential, organisation }, fakeStream())));
    const refusal = (credential: string, organisation: string) => {
      const place = streams.open({ credential, organisation }, fakeStream());
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

  /** Opens a stream for each credential. */
  const openFor = (streams: ReturnType<typeof create>, ...credentials: string[]) =>
    credentials.map((credential) => {
      const stream = fakeStream();
      return { stream, place: mustOpen(streams.open({ credential, organisation: 'acme' }, stream)) };
    });
  const ended = (opened: ReturnType<typeof openFor>) => opened.map(({ stream }) => stream.ended);

  it('checks the credentials of all streams with one call, and ends the streams of those that may not be used', async () => {
    const opened = openFor(create(), 'a', 'a', 'b', 'b', 'c');
    await nextCheck();
    expect(checks[0]).to.deep.equal(['a', 'b', 'c']);
    expect(ended(opened)).to.deep.equal([false, false, false, false, false]);
    usable = new Set(['b']);
    await nextCheck();
    expect(ended(opened)).to.deep.equal([true, true, false, false, true]);
    for (const { place } of opened) place.close();
  });

  it('keeps streams while credentials cannot be checked, and checks again', async () => {
    const opened = openFor(create(), 'a');
    usable = new Error('no primary');
    await nextCheck();
    await nextCheck();
    expect(ended(opened)).to.deep.equal([false]);
    usable = new Set();
    await nextCheck();
    expect(ended(opened)).to.deep.equal([true]);
    opened[0]!.place.close();
  });

  it('ends a stream that is opened while the replica closes', () => {
    const streams = create();
    const before = openFor(streams, 'a');
    streams.end();
    const during = openFor(streams, 'a');
    expect(ended([...before, ...during])).to.deep.equal([true, true]);
    for (const { place } of [...before, ...during]) place.close();
  });

  it('disconnects a client that does not read the end of its stream', async () => {
    const streams = create();
    const [stuck, quick] = openFor(streams, 'a', 'a');
    streams.end();
    quick!.place.close();
    while (!stuck!.stream.disconnected) await pause(10);
    expect(quick!.stream.disconnected).to.equal(false);
    stuck!.place.close();
  });

  it('disconnects and counts clients that do not read', async () => {
    const streams = create();
    const stuck = fakeStream({ reads: false });
    const [other] = openFor(streams, 'a');
    const place = mustOpen(streams.open({ credential: 'a', organisation: 'acme' }, stuck));
    stuck.disconnect = () => {
      stuck.disconnected = true;
      place.close();
    };
    while (!stuck.disconnected) await pause(1);
    await nextCheck();
    expect([slow, open, other!.stream.disconnected]).to.deep.equal([1, 1, false]);
    other!.place.close();
  });
});
