import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { contextOf } from '../../../test/support/operator-context.ts';
import { createStates } from '../../runtime/controller.ts';
import { NOW, launched, scanWith, storedBy } from '../../../test/support/scan-samples.ts';
import { newReconcileState } from '../policy/facts.ts';
import type { ControllerDefinition } from '../../runtime/manager.ts';
import { addResultsController } from './controller.ts';
import type { VerifiedResult } from '../policy/status.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import type { ingest as ingestResults, Ingested } from './ingest.ts';
import { LARGE_EXPORT_BYTES } from '../../../report/schema/export-size.ts';
import { createSemaphore, ONE_AT_A_TIME } from '../../../platform/concurrency/semaphore.ts';

describe('results controller', () => {
  /** A controller whose verifications end when the test ends them. */
  function controllerOf() {
    const states = createStates(newReconcileState);
    const enqueued: string[] = [];
    const started: { scanId: string; end: (ingested: Ingested) => void; fail: (error: Error) => void }[] = [];
    const scan = (name: string, phase: 'scanning' | 'canceled' = 'scanning') =>
      scanWith(launched({ phase }), { metadata: { name, uid: name, namespace: 'team' } });
    const scans = new Map(['a', 'b', 'c'].map((name) => [name, scan(name)]));
    const recorded: string[] = [];
    const down = new Set<'store' | 'rows'>();
    const failing = (part: 'store' | 'rows'): null => {
      if (down.has(part)) throw new Error(`${part} are down`);
      return null;
    };
    let controller!: ControllerDefinition;
    const manager = {
      add(definition: ControllerDefinition) {
        controller = definition;
        return () => undefined;
      },
    };
    const context = contextOf({
      manager,
      scanClient: { get: (_namespace, name) => scans.get(name) },
      scanStates: states,
      children: { listPods: async () => [] },
      reports: { read: async () => ({ ok: false, reason: 'missing' }), size: async () => failing('store') },
      stores: {
        scans: { find: async () => failing('rows') ?? scanRow({ id: 'a', organisation: 'acme' }) },
        knownIssues: {
          chosenFor: async () => ({ at: NOW.toISOString(), issues: [], leftOut: 0 }),
          recordMatches: async (_organisation, _site, { unmatched }) => void recorded.push(...unmatched),
        },
      },
      verifier: { start: () => undefined, stop: () => undefined },
      largeExports: createSemaphore(ONE_AT_A_TIME),
      clock: { now: () => NOW },
    });
    const ingest: typeof ingestResults = (_, { stored }) =>
      new Promise<Ingested>((end, fail) => {
        started.push({ scanId: stored.scanId, end, fail });
      });
    addResultsController(context, (key) => enqueued.push(key), ingest);
    const { signal } = new AbortController();
    return {
      down,
      states,
      scans,
      started,
      recorded,
      enqueued,
      end: (name: string) => scans.set(name, scan(name, 'canceled')),
      announce(name: string, bytes: number) {
        const stored = { ...storedBy(0), scanId: name, export: { bytes, sha256: 'a'.repeat(64) } };
        states.of(name).task = { do: 'verify', stored, slot: { attempt: 0, shard: 0 } };
      },
      run: async (name: string) => controller.reconcile(`team/${name}`, signal),
    };
  }
  const REFUSED: Ingested = { ok: false, reason: 'no.' };

  it('verifies large exports one at a time, and smaller ones meanwhile', async () => {
    const { announce, run, started } = controllerOf();
    announce('a', LARGE_EXPORT_BYTES + 1);
    announce('b', LARGE_EXPORT_BYTES + 1);
    announce('c', LARGE_EXPORT_BYTES);
    const running = [run('a')];
    expect(await run('b')).to.have.property('requeueAfterMs');
    running.push(run('c'));
    await setImmediate();
    expect(started.map(({ scanId }) => scanId)).to.deep.equal(['a', 'c']);
    for (const { end } of started) end(REFUSED);
    await Promise.all(running);
    const last = run('b');
    await setImmediate();
    expect(started).to.have.length(3);
    started[2]!.end(REFUSED);
    await last;
  });

  it('stores the outcome and enqueues the scan', async () => {
    const { announce, run, started, states, enqueued } = controllerOf();
    announce('a', 10);
    const running = run('a');
    await setImmediate();
    started[0]!.end(REFUSED);
    await running;
    expect(states.of('a').task).to.equal(null);
    expect([...states.of('a').refused]).to.deep.equal([[0, 'no.']]);
    expect(enqueued).to.deep.equal(['team/a']);
  });

  it('records the known issues that matched nothing, but not by a partial report: they may be on the other pages', async () => {
    for (const [partial, expected] of [
      [true, []],
      [false, ['issue']],
    ] as const) {
      const { announce, run, started, recorded } = controllerOf();
      announce('a', 10);
      const running = run('a');
      await setImmediate();
      started[0]!.end({ ok: true, result: { partial } as VerifiedResult, unmatchedIssues: ['issue'], issueExamples: {} });
      await running;
      expect(recorded).to.deep.equal(expected);
    }
  });

  it('keeps the task and notes the outage if the object store is down', async () => {
    const { announce, run, started, states, enqueued } = controllerOf();
    announce('a', 10);
    const running = run('a');
    await setImmediate();
    started[0]!.fail(new Error('connect ECONNREFUSED'));
    expect(await running.catch((error: Error) => error.message)).to.equal('connect ECONNREFUSED');
    expect(states.of('a').task).not.to.equal(null);
    expect(states.of('a').outageSince).to.deep.equal(NOW);
    expect(enqueued).to.deep.equal(['team/a']);
    const again = run('a');
    await setImmediate();
    started[1]!.end(REFUSED);
    await again;
    expect(states.of('a').outageSince).to.equal(null);
  });

  it('notes an outage also if the size of the baseline cannot be read, and none if MongoDB is down', async () => {
    const { announce, run, states, scans, enqueued, down } = controllerOf();
    for (const [name, part, noted] of [
      ['a', 'store', true],
      ['b', 'rows', false],
    ] as const) {
      announce(name, 10);
      scans.set(name, { ...scans.get(name)!, status: { ...scans.get(name)!.status, baseline: { scanId: 'main', optional: false } } });
      down.add(part);
      expect(await run(name).then(String, (error: Error) => error.name), part).to.match(/Error|RowUnread/);
      down.delete(part);
      expect(states.of(name).task, part).not.to.equal(null);
      expect(states.of(name).outageSince, part).to.deep.equal(noted ? NOW : null);
      expect(enqueued.at(-1), part).to.equal(`team/${name}`);
    }
  });

  it('drops the task of a scan that has ended', async () => {
    const { announce, run, started, states, end } = controllerOf();
    announce('a', 10);
    end('a');
    await run('a');
    expect(started).to.deep.equal([]);
    expect(states.of('a').task).to.equal(null);
  });
});
