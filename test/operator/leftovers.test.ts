import { expect } from 'chai';
import { SCAN_ID_LABEL, type AccessibilityScanSpec, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { EXIT_PERMANENT } from '../../core/protocol/pod-messages.ts';
import { JOBS, PODS, SCANS, SECRETS, type Pod } from '../../operator/scan/kube-types.ts';
import { runSweep } from '../../operator/maintenance/sweeper.ts';
import { createChildren } from '../../operator/scan/launch/children.ts';
import { noMessageBus } from '../../stores/nats.ts';
import { nightly } from '../support/nightly.ts';
import { createRandom } from '../support/random.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { systemClock } from '../../platform/clock.ts';
import { contextOf } from '../support/operator-context.ts';
import { openContext, until, type OperatorContext, type RunningOperator, type Scan } from './context.ts';
import { crashAfter } from './crash.ts';

/** At least twice every fate. */
const SCANS_IN_ALL = nightly(18, 200);
/** The number of scans that are live at the same time. */
const LIVE = 10;
const PAGES = 2;
/** An operator crashes after a random number of writes between these. A scan takes about ten. */
const CRASH_AFTER = nightly({ least: 20, most: 80 }, { least: 20, most: 200 });

/** What happens to a scan. */
const FATES = [
  'done',
  'done, kept',
  'lost message',
  'failed',
  'crashed',
  'canceled',
  'canceled while waiting',
  'deleted',
  'unowned',
] as const;
type Fate = (typeof FATES)[number];

/** No scan is out of the operator's sight here. */
const unexpected = (): never => {
  throw new Error('a scan counts as not watched');
};

describe('operator: leftovers', function () {
  this.timeout(900_000);
  const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);
  const random = createRandom(seed);
  let context: OperatorContext;
  before(async () => {
    console.log(`      CHAOS_SEED=${seed}`);
    context = await openContext();
    await context.grant(10 * SCANS_IN_ALL);
  });
  after(() => context.close());

  /** The objects of all scans, by kind. */
  async function objects(): Promise<Record<string, string[]>> {
    const { connection, namespace, team, strangers } = context;
    const entries = [SCANS, JOBS, PODS, SECRETS].map(async (type) => {
      const query = type === SCANS ? {} : { labelSelector: SCAN_ID_LABEL };
      const lists = await Promise.all(
        [namespace, team, strangers].map((at) =>
          connection.request<{ items: KubernetesObject[] }>('GET', connection.path(type, at), { query }),
        ),
      );
      return [type.plural, lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name))] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  /** Keeps an operator running that crashes after a random number of writes, again and again. */
  function keepCrashing() {
    let over = false;
    let crashes = 0;
    const settings = { maxRunning: LIVE, timeouts: { jobTtlMs: 500, lingerMs: 500 } };
    const done = (async (): Promise<RunningOperator> => {
      for (;;) {
        if (over) return context.start(settings);
        const crash = crashAfter(context, CRASH_AFTER.least + Math.floor(random() * (CRASH_AFTER.most - CRASH_AFTER.least)));
        const operator = context.start({ ...settings, leaseSeconds: 3 }, crash.deps);
        await Promise.race([crash.happened, until('the test ends', async () => over, 900_000)]);
        if (!over) crashes += 1;
        await operator.stop();
        await context.dropLease().catch(() => undefined);
      }
    })();
    return {
      crashes: () => crashes,
      /** Replaces it by an operator that stays. */
      async settle(): Promise<void> {
        over = true;
        await done;
      },
    };
  }

  async function succeed(scan: Scan, pod: Pod, announce: boolean): Promise<void> {
    await scan.startPod(pod);
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await scan.endPod(pod, { exitCode: 0, ...(announce && { message: JSON.stringify(stored) }) });
  }

  async function crash(scan: Scan): Promise<void> {
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const pod = await scan.pod(attempt);
      await scan.startPod(pod);
      await scan.endPod(pod, { exitCode: 1, message: 'out of memory' });
    }
  }

  /** Lets a scan meet its fate. @returns the pages to charge */
  async function live(fate: Fate, byHand: boolean): Promise<number> {
    const spec: Partial<AccessibilityScanSpec> = { maxPages: PAGES, ...(fate !== 'done, kept' && { ttlSecondsAfterFinished: 1 }) };
    const scan =
      fate === 'unowned'
        ? await context.apply(context.strangers, spec)
        : await (byHand ? context.apply(context.team, spec) : context.submit(spec));
    const needsPod = !['unowned', 'canceled while waiting'].includes(fate) && fate !== 'crashed';
    const pod = needsPod ? await scan.pod() : null;
    if (fate.startsWith('done')) await succeed(scan, pod!, true);
    if (fate === 'lost message') await succeed(scan, pod!, false);
    if (fate === 'failed') await scan.endPod(pod!, { exitCode: EXIT_PERMANENT, message: 'not a failure report' });
    if (fate === 'crashed') await crash(scan);
    if (fate.startsWith('canceled')) await scan.patch({ spec: { cancel: true } });
    if (fate === 'deleted') await scan.remove();
    if (fate !== 'done, kept') await until(`the ${fate} scan is gone`, async () => (await scan.read()) === null, 120_000);
    else {
      const kept = await scan.settles();
      expect(kept.status?.phase).to.equal('done');
      await scan.remove();
    }
    return fate.startsWith('done') || fate === 'lost message' ? PAGES : 0;
  }

  it(`are none after ${SCANS_IN_ALL} scans whose operators crash at random`, async () => {
    expect(await objects()).to.deep.equal({ accessibilityscans: [], jobs: [], pods: [], secrets: [] });
    const operators = keepCrashing();
    let next = 0;
    let charged = 0;
    const worker = async (): Promise<void> => {
      while (next < SCANS_IN_ALL) {
        const index = next++;
        const pages = await live(FATES[index % FATES.length]!, random() < 0.5);
        charged += pages;
      }
    };
    try {
      await Promise.all(Array.from({ length: LIVE }, worker));
    } finally {
      next = SCANS_IN_ALL;
      await operators.settle();
    }
    console.log(`      ${SCANS_IN_ALL} scans, ${operators.crashes()} crashes of the operator`);
    expect(operators.crashes()).to.be.greaterThan(nightly(1, 5));

    await until('every object is gone', async () => Object.values(await objects()).every((names) => names.length === 0), 120_000);
    expect(await context.held()).to.equal(0);
    expect(await context.spent()).to.equal(charged);
    // The uploads of a scan whose operator crashed between the release and the removal are the sweeper's.
    const sweeps = contextOf({
      connection: context.connection,
      scanClient: { get: () => undefined, patchStatus: unexpected, patchMetadata: unexpected },
      children: createChildren(context.connection),
      metrics: { ended: unexpected },
      stores: context.stores,
      reports: context.reports,
      bus: noMessageBus(),
      settings: { namespace: context.namespace, retentionDays: 90, verdictDays: 400 },
      clock: { ...systemClock, now: () => new Date(Date.now() + 2 * 3_600_000) },
    });
    const options = { reconcileAgain: () => undefined, pendingForMs: 0, staleForMs: 86_400_000 };
    await runSweep(sweeps, options, new AbortController().signal);
    expect(await context.reports.uploads()).to.deep.equal([]);
  });
});
