import { expect } from 'chai';
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { Organisation } from '../../../core/organisation.ts';
import { contextOf } from '../../../test/support/operator-context.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { NOW, scanWith } from '../../../test/support/scan-samples.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { createStates } from '../../runtime/controller.ts';
import type { ControllerDefinition } from '../../runtime/manager.ts';
import { newReconcileState } from '../policy/facts.ts';
import type { StatusPatch } from '../policy/status.ts';
import { addVettingController } from './vetting.ts';

describe('vetting', () => {
  /** A controller whose name servers do not answer, and what it writes. */
  function controllerOf(lookupMs = 0) {
    const clock = createFakeClock(NOW.getTime());
    const scans = new Map<string, AccessibilityScan>([['a', scanWith()]]);
    const states = createStates(newReconcileState);
    const written: StatusPatch[] = [];
    const enqueued: string[] = [];
    const lookups: string[] = [];
    let controller!: ControllerDefinition;
    const context = contextOf({
      clock,
      manager: { add: (definition) => ((controller = definition), () => undefined) },
      scanStates: states,
      scanClient: {
        get: (_namespace, name) => scans.get(name),
        async patchStatus(scan, status) {
          written.push(status);
          return scan;
        },
      },
      stores: {
        scans: { find: async () => scanRow({ organisation: 'acme' }) },
        organisations: { find: async () => ({ blocked: false }) as Organisation },
      },
      metrics: { ended: () => undefined },
      resolver: {
        async resolve(hostname) {
          lookups.push(hostname);
          await clock.advance(lookupMs);
          return { ok: false, reason: 'unavailable' };
        },
      },
    });
    addVettingController(context, 120_000, (key) => enqueued.push(key));
    const state = states.of(scans.get('a')!.metadata.uid!);
    const reconcile = async () => {
      state.vetting = true;
      await controller.reconcile('team/a', new AbortController().signal);
    };
    return { clock, scans, state, written, enqueued, lookups, reconcile };
  }

  it('ends a scan for its name servers only if none has answered for two minutes since the first failure', async () => {
    const { clock, written, reconcile } = controllerOf();
    const vetAfter = async (seconds: number) => {
      await clock.advance(seconds * 1000);
      await reconcile();
      const { phase = 'waits', conditions } = written.at(-1)!;
      return `${phase}: ${conditions?.find(({ type }) => type === 'Admitted')?.reason}`;
    };
    expect(await vetAfter(0)).to.equal('waits: NameServersUnavailable');
    expect(await vetAfter(119)).to.equal('waits: NameServersUnavailable');
    expect(await vetAfter(1)).to.equal('failed: TargetRefused');
  });

  it('counts the pause before the next lookup from the end of the last one', async () => {
    const { state, enqueued, reconcile } = controllerOf(4_500);
    await reconcile();
    expect(state.unresolved).to.deep.equal({ since: NOW, at: new Date(NOW.getTime() + 4_500) });
    expect([state.vetting, enqueued]).to.deep.equal([false, ['team/a']]);
  });

  it('looks nothing up for a scan that was canceled, deleted or vetted meanwhile', async () => {
    for (const changed of [
      scanWith(undefined, { spec: { cancel: true } }),
      scanWith(undefined, { metadata: { deletionTimestamp: NOW.toISOString() } }),
      scanWith({ phase: 'queued' }),
    ]) {
      const { scans, state, lookups, reconcile } = controllerOf();
      scans.set('a', changed);
      await reconcile();
      expect([lookups, state.vetting]).to.deep.equal([[], false]);
    }
  });
});
