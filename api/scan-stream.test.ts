import { expect } from 'chai';
import fc from 'fast-check';
import { PHASES, isTerminal } from '../core/scan/phases.ts';
import type { ScanRow } from '../stores/scans/scans.ts';
import { scanRow } from '../test/support/scan-rows.ts';
import { eventText, lastEventIdOf, openStream } from './scan-stream.ts';

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
          const stream = await openStream({
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
                notify = () => onChange({} as never);
                return () => (notify = () => undefined);
              },
            },
            organisation: 'acme',
            scanId: rows[0]!.id,
            lastEventId,
            timings: { keepaliveMs: 1000, pollMs: 0, pollWithoutBusMs: 0 },
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

  it('does not miss a change between the subscription and the first read', async () => {
    let stored = row(1, 'queued');
    let onChange = (): void => undefined;
    const stream = await openStream({
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
          onChange = () => listener({} as never);
          return () => undefined;
        },
      },
      organisation: 'acme',
      scanId: stored.id,
      lastEventId: null,
      // Long enough that only a message can trigger a read during this test.
      timings: { keepaliveMs: 3600_000, pollMs: 3600_000, pollWithoutBusMs: 3600_000 },
      signal: new AbortController().signal,
    });
    const events: string[] = [];
    for await (const piece of stream.text()) events.push(piece);
    expect(events).to.deep.equal([eventText(row(1, 'queued')), eventText(row(2, 'done'))]);
  });

  it('unsubscribes if the first read fails', async () => {
    let subscriptions = 0;
    const bus = {
      connected: true,
      followStatus: () => {
        subscriptions += 1;
        return () => void (subscriptions -= 1);
      },
    };
    const timings = { keepaliveMs: 1000, pollMs: 1000, pollWithoutBusMs: 1000 };
    const failure = await openStream({
      read: () => Promise.reject(new Error('unavailable')),
      bus,
      organisation: 'acme',
      scanId: 'x',
      lastEventId: null,
      timings,
      signal: new AbortController().signal,
    }).catch((error: Error) => error.message);
    expect([failure, subscriptions]).to.deep.equal(['unavailable', 0]);
  });
});

describe('lastEventIdOf', () => {
  for (const [header, id] of [
    ['0', 0],
    ['17', 17],
    [undefined, null],
    ['', null],
    ['-1', null],
    ['1e3', null],
    ['99999999999999999999', null],
    [['1', '2'], null],
  ] as const)
    it(`reads ${JSON.stringify(header)} as ${id}`, () => expect(lastEventIdOf(header)).to.equal(id));
});
