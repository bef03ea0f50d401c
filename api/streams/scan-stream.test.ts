import { expect } from 'chai';
import fc from 'fast-check';
import { PHASES, isTerminal } from '../../core/scan/phases.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { scanRow } from '../../test/support/scan-rows.ts';
import { createFollowers, createScanStream, eventText, lastEventIdOf } from './scan-stream.ts';

const ID = '0b9c2d1e-0000-4000-8000-000000000000';
const row = (version: number, phase: ScanRow['phase']): ScanRow =>
  scanRow({ id: ID, submission: 'accepted', pagesReserved: 5, version, phase });

/** The rows of one scan in order: each version is one higher, phases only advance, and the last phase is terminal. */
const history = fc
  .tuple(
    fc.array(fc.constantFrom(...PHASES.filter((phase) => !isTerminal(phase))), { maxLength: 12 }),
    fc.constantFrom('done', 'failed', 'canceled'),
  )
  .map(([phases, end]) => {
    const forwards = phases.sort((a, b) => PHASES.indexOf(a) - PHASES.indexOf(b));
    return ['queued', ...forwards, end].map((phase, index) => row(index + 1, phase as ScanRow['phase']));
  });

const FOREVER = 3600_000;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const stored = (...rows: ScanRow[]) => Promise.resolve(new Map(rows.map((one) => [one.id, one])));

/** A response whose client takes each piece at once, or only when the test says so. */
function client({ slow = false } = {}) {
  const pieces: string[] = [];
  const waiting: (() => void)[] = [];
  let onEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  return {
    pieces,
    /** The pieces, once the response has ended. */
    all: ended.then(() => pieces),
    /** Takes what was written. */
    take: () => waiting.shift()?.(),
    output: {
      write(text: string, taken: () => void) {
        pieces.push(text);
        if (slow) waiting.push(taken);
        else setImmediate(taken);
        return true;
      },
      end(text = '') {
        if (text !== '') pieces.push(text);
        onEnd();
      },
      destroy: onEnd,
    } as never,
  };
}

describe('createScanStream', () => {
  it('sends events in order without duplicates, and `complete` once and last, for any order of reads and messages', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(fc.record({ steps: fc.nat({ max: 3 }), notifies: fc.boolean(), fails: fc.boolean() })),
        fc.option(fc.nat({ max: 14 })),
        async (rows, script, lastEventId) => {
          let now = 0;
          let reads = 0;
          let notify = (): void => undefined;
          const followers = createFollowers({
            // Each read advances the scan as the script says, and may fail.
            read: () => {
              const { steps, notifies, fails } = script[reads++] ?? { steps: 1, notifies: true, fails: false };
              if (reads > 1) now = Math.min(now + steps, rows.length - 1);
              if (notifies) queueMicrotask(() => notify());
              return fails && reads > 1 ? Promise.reject(new Error('unavailable')) : stored(rows[now]!);
            },
            bus: {
              connected: true,
              followStatus: (_organisation, _scan, onChange) => {
                notify = () => onChange();
                return () => (notify = () => undefined);
              },
            },
            timings: { pollMs: 0, pollWithoutBusMs: 0 },
          });
          const { all, output } = client();
          const stream = createScanStream({ followers, organisation: 'acme', scanId: ID, lastEventId, output });
          await stream.read();
          stream.start();
          const events = (await all).filter((piece) => !piece.startsWith(':'));
          const ids = events.map((piece) => Number(/^id: (\d+)/.exec(piece)![1]));
          expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => a - b));
          for (const id of ids.slice(0, -1)) expect(id).to.be.greaterThan(lastEventId ?? 0);
          expect(events.filter((piece) => piece.includes('"event":"complete"'))).to.deep.equal([eventText(rows.at(-1)!)]);
          expect(events.at(-1)).to.equal(eventText(rows.at(-1)!));
        },
      ),
      { numRuns: 200 },
    );
  });

  /** Stored rows, the bus that announces their changes, and what followers do with both. */
  function scans(...rows: ScanRow[]) {
    const listeners = new Set<() => void>();
    const state = { rows, reads: 0, subscriptions: 0, read: () => stored(...state.rows) };
    const followers = createFollowers({
      read: () => {
        state.reads += 1;
        return state.read();
      },
      bus: {
        connected: true,
        followStatus: (_organisation, _scan, onChange) => {
          const listener = () => onChange();
          listeners.add(listener);
          state.subscriptions += 1;
          return () => {
            state.subscriptions -= 1;
            listeners.delete(listener);
          };
        },
      },
      // Long enough that only a message can trigger a read during a test.
      timings: { pollMs: FOREVER, pollWithoutBusMs: FOREVER },
    });
    const change = async (...after: ScanRow[]): Promise<void> => {
      state.rows = after;
      for (const listener of listeners) listener();
      // One for the read, one for what is taken.
      for (let turns = 0; turns < 3; turns += 1) await turn();
    };
    const open = async (scanId = ID, options = {}) => {
      const receiver = client(options);
      const stream = createScanStream({ followers, organisation: 'acme', scanId, lastEventId: null, output: receiver.output });
      await stream.read();
      stream.start();
      return Object.assign(receiver, { stream });
    };
    return Object.assign(state, { followers, change, open });
  }

  it('does not miss a change between the subscription and the first read', async () => {
    const watched = scans(row(1, 'queued'));
    watched.read = () => {
      watched.read = () => stored(...watched.rows);
      // The change is stored and published after this read took its row, before the read returns.
      void watched.change(row(2, 'done'));
      return stored(row(1, 'queued'));
    };
    const { all } = await watched.open();
    // The first event may be skipped, because its state is over.
    expect((await all).at(-1)).to.equal(eventText(row(2, 'done')));
  });

  it('reads once for each change, whatever the number of streams, and for changes that arrive together', async () => {
    const OTHER = ID.replace('0b', '1b');
    const other = (version: number, phase: ScanRow['phase']) => ({ ...row(version, phase), id: OTHER });
    const watched = scans(row(1, 'queued'), other(1, 'queued'));
    const streams = await Promise.all(Array.from({ length: 50 }, () => watched.open()));
    const others = await Promise.all(Array.from({ length: 50 }, () => watched.open(OTHER)));
    expect(watched.subscriptions).to.equal(2);
    expect(watched.reads, 'reads of 50 streams that open at once').to.equal(2);
    await turn();
    watched.reads = 0;
    await watched.change(row(2, 'crawling'), other(1, 'queued'));
    await watched.change(row(3, 'scanning'), other(2, 'scanning'));
    await watched.change(row(4, 'done'), other(3, 'failed'));
    const expected = [row(1, 'queued'), row(2, 'crawling'), row(3, 'scanning'), row(4, 'done')].map(eventText);
    for (const { all } of streams) expect(await all).to.deep.equal(expected);
    for (const { all } of others)
      expect(await all).to.deep.equal([other(1, 'queued'), other(2, 'scanning'), other(3, 'failed')].map(eventText));
    expect(watched.reads, 'one for each time').to.equal(3);
    expect(watched.subscriptions, 'after the last stream').to.equal(0);
  });

  it('shows no scan of another organisation, nor one that was abandoned', async () => {
    const theirs = scans({ ...row(1, 'queued'), organisation: 'globex' });
    const never = scans({ ...row(1, 'queued'), submission: 'abandoned' });
    for (const { followers } of [theirs, never])
      expect(
        await createScanStream({ followers, organisation: 'acme', scanId: ID, lastEventId: null, output: client().output }).read(),
      ).to.equal(null);
  });

  it('keeps only the newest state for a slow reader, and reports one that takes nothing', async () => {
    const watched = scans(row(1, 'queued'));
    const { pieces, take, stream } = await watched.open(ID, { slow: true });
    for (let version = 2; version <= 50; version += 1) await watched.change(row(version, 'scanning'));
    expect(pieces).to.deep.equal([eventText(row(1, 'queued'))]);
    expect(stream.keepAlive()).to.equal(true);
    take();
    expect(pieces.slice(1)).to.deep.equal([eventText(row(50, 'scanning'))]);
    expect([stream.keepAlive(), stream.keepAlive()]).to.deep.equal([true, false]);
    await watched.change(row(51, 'done'));
    take();
    expect(pieces.slice(2)).to.deep.equal([eventText(row(51, 'done'))]);
    expect([stream.keepAlive(), stream.keepAlive()], 'of an end that is not taken').to.deep.equal([true, false]);
  });

  it('leaves its scan when it is ended, before and after its start', async () => {
    const watched = scans(row(1, 'queued'));
    const { all, stream } = await watched.open();
    stream.end();
    expect(await all).to.deep.equal([eventText(row(1, 'queued'))]);
    watched.read = () => Promise.reject(new Error('unavailable'));
    const { followers } = watched;
    const failing = createScanStream({ followers, organisation: 'acme', scanId: 'x', lastEventId: null, output: client().output });
    expect(await failing.read().catch((error: Error) => error.message)).to.equal('unavailable');
    failing.end();
    expect(watched.subscriptions).to.equal(0);
  });
});

describe('lastEventIdOf', () => {
  for (const [header, id] of [
    ['0', 0],
    ['17', 17],
    ['-1', null],
    ['99999999999999999999', null],
    [['1', '2'], null],
  ] as const)
    it(`reads ${JSON.stringify(header)} as ${id}`, () => expect(lastEventIdOf(header)).to.equal(id));
});
