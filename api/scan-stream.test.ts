import { expect } from 'chai';
import fc from 'fast-check';
import { PHASES, isTerminal } from '../core/scan/phases.ts';
import type { ScanRow } from '../stores/scans/scans.ts';
import { eventText, lastEventIdOf, openStream } from './scan-stream.ts';

const row = (version: number, phase: ScanRow['phase']): ScanRow => ({
  id: '0b9c2d1e-0000-4000-8000-000000000000',
  organisation: 'acme',
  origin: 'api',
  resource: { namespace: 'curbcut', name: 'scan' },
  submission: 'accepted',
  options: {
    url: 'https://example.com/',
    maxPages: 5,
    wcagLevel: 'AA',
    wcagVersion: '2.1',
    thresholds: {},
    crawl: { include: [], exclude: [], sitemap: true, respectRobots: true },
    locale: 'en',
  },
  pagesRequested: 5,
  pagesReserved: 5,
  phase,
  version,
  pages: { scanned: 0, failed: 0, total: 0 },
  outcome: null,
  passed: null,
  message: null,
  reports: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  finishedAt: null,
});

/** A scan's whole life: versions rise by one, phases only forwards, the last one is an end. */
const life = fc
  .tuple(
    fc.array(fc.constantFrom(...PHASES.filter((phase) => !isTerminal(phase))), { maxLength: 12 }),
    fc.constantFrom('done', 'failed', 'canceled'),
  )
  .map(([phases, end]) => {
    const forwards = phases.sort((a, b) => PHASES.indexOf(a) - PHASES.indexOf(b));
    return ['queued', ...forwards, end].map((phase, index) => row(index + 1, phase as ScanRow['phase']));
  });

describe('openStream', () => {
  it('tells no event twice, none older than one before it, and completes once and last, however looks and messages fall', async () => {
    await fc.assert(
      fc.asyncProperty(
        life,
        fc.array(fc.record({ steps: fc.nat({ max: 3 }), rings: fc.boolean(), fails: fc.boolean() })),
        fc.option(fc.nat({ max: 14 })),
        async (rows, script, lastEventId) => {
          let now = 0;
          let turn = 0;
          let ring = (): void => undefined;
          const stream = await openStream({
            // Each look moves the scan on by what the script says, and may fail.
            read: () => {
              const { steps, rings, fails } = script[turn++] ?? { steps: 1, rings: true, fails: false };
              if (turn > 1) now = Math.min(now + steps, rows.length - 1);
              if (rings) queueMicrotask(() => ring());
              return fails && turn > 1 ? Promise.reject(new Error('away')) : Promise.resolve(rows[now]!);
            },
            bus: {
              connected: true,
              followStatus: (_organisation, _scan, onChange) => {
                ring = () => onChange({} as never);
                return () => (ring = () => undefined);
              },
            },
            organisation: 'acme',
            scanId: rows[0]!.id,
            lastEventId,
            timings: { keepaliveMs: 1000, rereadMs: 0, rereadAloneMs: 0 },
            signal: new AbortController().signal,
          });
          const told: string[] = [];
          for await (const piece of stream.text()) if (!piece.startsWith(':')) told.push(piece);
          const ids = told.map((piece) => Number(/^id: (\d+)/.exec(piece)![1]));
          expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => a - b));
          for (const id of ids.slice(0, -1)) expect(id).to.be.greaterThan(lastEventId ?? 0);
          expect(told.filter((piece) => piece.includes('"event":"complete"'))).to.deep.equal([eventText(rows.at(-1)!)]);
          expect(told.at(-1)).to.equal(eventText(rows.at(-1)!));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('loses no change that comes between the listening and the first look', async () => {
    let stored = row(1, 'queued');
    let onChange = (): void => undefined;
    const stream = await openStream({
      read: () => {
        const read = stored;
        // The change is stored and told after this look took its row, before its answer is here.
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
      // Nobody looks unasked within this test's life.
      timings: { keepaliveMs: 3600_000, rereadMs: 3600_000, rereadAloneMs: 3600_000 },
      signal: new AbortController().signal,
    });
    const told: string[] = [];
    for await (const piece of stream.text()) told.push(piece);
    expect(told).to.deep.equal([eventText(row(1, 'queued')), eventText(row(2, 'done'))]);
  });

  it('stops listening when the first look fails', async () => {
    let listening = 0;
    const bus = {
      connected: true,
      followStatus: () => {
        listening += 1;
        return () => void (listening -= 1);
      },
    };
    const timings = { keepaliveMs: 1000, rereadMs: 1000, rereadAloneMs: 1000 };
    const failure = await openStream({
      read: () => Promise.reject(new Error('away')),
      bus,
      organisation: 'acme',
      scanId: 'x',
      lastEventId: null,
      timings,
      signal: new AbortController().signal,
    }).catch((error: Error) => error.message);
    expect([failure, listening]).to.deep.equal(['away', 0]);
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
