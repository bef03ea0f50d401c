import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { PHASES, isTerminal } from '../../core/scan/phases.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { scanRow } from '../../test/support/scan-rows.ts';
import { createFollowers, eventText, lastEventIdOf, openStream } from './scan-stream.ts';

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

describe('openStream', () => {
  it('sends events in order without duplicates, and `complete` once and last, for any order of reads and messages', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(fc.record({ steps: fc.nat({ max: 3 }), notifies: fc.boolean(), fails: fc.boolean() })),
        fc.option(fc.nat({ max: 14 })),
        async (rows, script, lastEventId) => {
          let now = 0;
          let turn = 0;
          let notify = (): void => undefined;
          const followers = createFollowers({
            // Each read advances the scan as the script says, and may fail.
            read: () => {
              const { steps, notifies, fails } = script[turn++] ?? { steps: 1, notifies: true, fails: false };
              if (turn > 1) now = Math.min(now + steps, rows.length - 1);
              if (notifies) queueMicrotask(() => notify());
              return fails && turn > 1 ? Promise.reject(new Error('unavailable')) : Promise.resolve(rows[now]!);
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
          const stream = await openStream({
            followers,
            organisation: 'acme',
            scanId: rows[0]!.id,
            lastEventId,
            keepaliveMs: 1000,
            signal: new AbortController().signal,
          });
          const events: string[] = [];
          for await (const piece of stream.text()) if (!piece.startsWith(':')) events.push(piece);
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

  /** A stored row, the bus that announces its changes, and what followers do with both. */
  function scan(stored: ScanRow) {
    const listeners = new Set<() => void>();
    const state = { stored, reads: 0, subscriptions: 0 };
    const followers = createFollowers({
      read: () => {
        state.reads += 1;
        return Promise.resolve(state.stored);
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
    const publish = (): void => {
      for (const listener of listeners) listener();
    };
    const open = (signal: AbortSignal = new AbortController().signal) =>
      openStream({ followers, organisation: 'acme', scanId: stored.id, lastEventId: null, keepaliveMs: FOREVER, signal });
    return Object.assign(state, { publish, open });
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  async function collect(text: AsyncIterable<string>): Promise<string[]> {
    const pieces: string[] = [];
    for await (const piece of text) pieces.push(piece);
    return pieces;
  }

  it('does not miss a change between the subscription and the first read', async () => {
    let stored = row(1, 'queued');
    let onChange = (): void => undefined;
    const followers = createFollowers({
      read: () => {
        const read = stored;
        // The change is stored and published after this read took its row, before the read returns.
        if (stored.version === 1) {
          stored = row(2, 'done');
          onChange();
        }
        return Promise.resolve(read);
      },
      bus: {
        connected: true,
        followStatus: (_organisation, _scan, listener) => {
          onChange = () => listener();
          return () => undefined;
        },
      },
      timings: { pollMs: FOREVER, pollWithoutBusMs: FOREVER },
    });
    const { signal } = new AbortController();
    const stream = await openStream({ followers, organisation: 'acme', scanId: ID, lastEventId: null, keepaliveMs: FOREVER, signal });
    const events = await collect(stream.text());
    // The first event may be skipped, because its state is over.
    expect(events.at(-1)).to.equal(eventText(row(2, 'done')));
  });

  it('shares one subscription and the reads of a scan between its streams', async () => {
    const watched = scan(row(1, 'queued'));
    const streams = await Promise.all(Array.from({ length: 50 }, () => watched.open()));
    expect(watched.subscriptions).to.equal(1);
    expect(watched.reads, 'reads of 50 streams that open at once').to.be.at.most(2);
    const received = streams.map((stream) => collect(stream.text()));
    await turn();
    watched.reads = 0;
    for (const [version, phase] of [
      [2, 'crawling'],
      [3, 'scanning'],
      [4, 'done'],
    ] as const) {
      watched.stored = row(version, phase);
      watched.publish();
      await turn();
    }
    const expected = [row(1, 'queued'), row(2, 'crawling'), row(3, 'scanning'), row(4, 'done')].map(eventText);
    for (const events of await Promise.all(received)) expect(events).to.deep.equal(expected);
    expect(watched.reads, 'one for each change').to.equal(3);
    expect(watched.subscriptions, 'after the last stream').to.equal(0);
  });

  it('keeps only the newest state for a slow reader', async () => {
    const watched = scan(row(1, 'queued'));
    const text = Readable.from((await watched.open()).text(), { objectMode: false, highWaterMark: 1 });
    await once(text, 'readable');
    for (let version = 2; version <= 500; version += 1) {
      watched.stored = row(version, 'scanning');
      watched.publish();
      await turn();
    }
    expect(text.readableLength, 'characters that wait').to.be.below(1000);
    watched.stored = row(501, 'done');
    watched.publish();
    await turn();
    const ids = [...(await collect(text)).join('').matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids.length).to.be.below(5);
    expect([ids[0], ids.at(-1)]).to.deep.equal([1, 501]);
  });

  it('ends when its signal aborts while it waits', async () => {
    const watched = scan(row(1, 'queued'));
    const ending = new AbortController();
    const received = collect((await watched.open(ending.signal)).text());
    await turn();
    ending.abort();
    expect(await received).to.deep.equal([eventText(row(1, 'queued'))]);
    expect(watched.subscriptions).to.equal(0);
  });

  it('unsubscribes if the first read fails', async () => {
    let subscriptions = 0;
    const followers = createFollowers({
      read: () => Promise.reject(new Error('unavailable')),
      bus: {
        connected: true,
        followStatus: () => {
          subscriptions += 1;
          return () => void (subscriptions -= 1);
        },
      },
      timings: { pollMs: FOREVER, pollWithoutBusMs: FOREVER },
    });
    const { signal } = new AbortController();
    const opened = openStream({ followers, organisation: 'acme', scanId: 'x', lastEventId: null, keepaliveMs: FOREVER, signal });
    const failure = await opened.catch((error: Error) => error.message);
    expect([failure, subscriptions]).to.deep.equal(['unavailable', 0]);
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
