/**
 * API, operator and sweeper decide about the same submissions at the same time, on the real stores, while responses are lost.
 * Regardless of which process decides first, each key gets one scan at most, and exactly the pages of the scans that ran are charged.
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { resourceNameOf, SCAN_ID_ANNOTATION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { acceptedAnswer } from '../../api/scans/scans.ts';
import { DependencyDown } from '../../api/http/dependency-outages.ts';
import { createSubmissions } from '../../api/scans/submission/submit.ts';
import type { SubmissionOutcome } from '../../api/scans/submission/submission.ts';
import { vet } from '../../operator/scan/launch/preflight.ts';
import { NO_TRACER } from '../../platform/tracing.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { contextOf } from '../support/operator-context.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { sweepOnce } from '../support/sweep-once.ts';
import { openDatabase, type TestDatabase } from '../stores/database.ts';

const NAMESPACE = 'curbcut';
const LANES = 4;
const KEYS_PER_LANE = 6;
const PAGES = 3;
const TARGETS = { allow: [], deny: [] };
const resolver = { resolve: () => Promise.resolve({ ok: true as const, addresses: ['93.184.215.14'] }) };

describe('submissions that API, operator and sweeper decide at once', () => {
  let database: TestDatabase;
  before(async () => {
    database = await openDatabase();
  });
  after(() => database.close());

  for (const round of [1, 2])
    it(`run once per key and are charged exactly (round ${round})`, async () => {
      const organisation = `race-${randomUUID().slice(0, 8)}`;
      const replicas = [openStores(database.db), openStores(database.another())] as const;
      const stores = replicas[0];
      await stores.organisations.add({ id: organisation, displayName: organisation, plan: 'test', namespaces: [] });
      await stores.credits.grant(organisation, 'first', LANES * KEYS_PER_LANE * PAGES);
      const world = createWorld(organisation, replicas);
      const pause = new AbortController();
      const sweeping = world.keepSweeping(pause.signal);

      const lanes = Array.from({ length: LANES }, async (_, lane) => {
        for (let n = 0; n < KEYS_PER_LANE; n += 1) await world.submitUntilAccepted(`key-${lane}-${n}`);
      });
      await Promise.all(lanes);
      pause.abort();
      await sweeping;
      await world.settleDown();

      expect([...world.answered.values()].toSorted(), 'the scans that ran').to.deep.equal([...world.ran].toSorted());
      expect(world.answered.size).to.equal(LANES * KEYS_PER_LANE);
      const { held, spent, balance } = await stores.credits.balance(organisation);
      expect({ held, spent, balance }).to.deep.equal({
        held: 0,
        spent: world.ran.size,
        balance: LANES * KEYS_PER_LANE * PAGES - world.ran.size,
      });
      expect(await stores.scans.pending(new Date(Date.now() + 60_000), 1000)).to.deep.equal([]);
    });

  function createWorld(organisation: string, replicas: readonly [AllStores, AllStores]) {
    const written = new Map<string, ScanRow>();
    const working: Promise<unknown>[] = [];
    const ran = new Set<string>();
    const answered = new Map<string, string>();
    const chance = (share: number): boolean => Math.random() < share;
    const either = (): AllStores => replicas[chance(0.5) ? 0 : 1];
    const later = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * 8));
    const lost = () => Promise.reject(new DependencyDown('kubernetes', new Error('no response')));

    /** The operator sees a new resource, and runs the scan if the preflight allows it. The scan tests one page. */
    async function operate(row: ScanRow): Promise<void> {
      await later();
      const stores = either();
      const context = contextOf({ stores, resolver, settings: { namespace: NAMESPACE, targets: TARGETS } });
      const vetted = await vet(context, resourceOf(row), row.id);
      if (!vetted.ok) return;
      ran.add(row.id);
      await later();
      await stores.credits.settle(organisation, row.id, 1);
      const pages = { scanned: 1, failed: 0, total: 1 };
      const violations = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };
      await stores.scans.mirror(row.id, { phase: 'done', pages, outcome: { score: 100, violations, pages }, finishedAt: new Date() });
    }

    function submissions(stores: AllStores) {
      return createSubmissions({
        stores: {
          ...stores,
          scanResources: {
            namespace: NAMESPACE,
            async submit(row) {
              await later();
              if (chance(0.15)) return lost();
              if (!written.has(row.id)) {
                written.set(row.id, row);
                working.push(operate(row));
              }
              await later();
              if (chance(0.25)) await lost();
            },
            cancel: () => Promise.reject(new Error('nobody cancels')),
            ping: () => Promise.resolve(),
            exists: ({ resource }) => (chance(0.5) ? lost() : Promise.resolve(written.has(resource.name.replace('scan-', '')))),
          },
        },
        resolver,
        now: () => new Date(),
        tracer: NO_TRACER,
        newId: randomUUID,
        namespace: NAMESPACE,
        testTargets: [],
        allowPrepareSteps: true,
        allowScanSecrets: [],
        targets: TARGETS,
        queueGate: () => Promise.resolve(chance(0.1) ? 'queue_paused' : null),
        maxLiveScansPerOrganisation: 500,
        answerFor: acceptedAnswer,
      });
    }

    /** Ends the lease of a key, as time does. */
    const expireLease = (key: string) =>
      database.db
        .collection<{ _id: string }>('idempotency')
        .updateOne({ _id: `${organisation}/${key}` }, { $set: { leaseUntil: new Date(0) } });

    async function submit(key: string): Promise<SubmissionOutcome | null> {
      const options = withDefaults({ url: 'https://example.com/', maxPages: PAGES });
      const request = { organisation, options, partial: false, idempotency: { key, fingerprint: 'body' } };
      return submissions(either())
        .submit(request, silentLogger)
        .catch((error: unknown) => {
          if (error instanceof DependencyDown) return null;
          throw error;
        });
    }

    return {
      ran,
      answered,
      /** Sends a submission, often twice at once, until it is accepted. Every answer names the same scan. */
      async submitUntilAccepted(key: string): Promise<void> {
        for (;;) {
          const outcomes = await Promise.all([submit(key), ...(chance(0.3) ? [expireLease(key).then(() => submit(key))] : [])]);
          for (const outcome of outcomes) {
            if (!outcome?.ok) continue;
            const { scan_id } = outcome.answer.body as { scan_id: string };
            expect(answered.get(key) ?? scan_id, `the scan of ${key}`).to.equal(scan_id);
            answered.set(key, scan_id);
          }
          if (answered.has(key)) return;
          await expireLease(key);
        }
      },
      /** Sweeps all the time, as if every pending row were old. */
      async keepSweeping(signal: AbortSignal): Promise<void> {
        while (!signal.aborted) {
          await later();
          await sweepOnce(sweepRequest());
        }
      },
      async settleDown(): Promise<void> {
        await Promise.all(working);
        await sweepOnce(sweepRequest());
      },
    };

    function sweepRequest() {
      const exists = (row: ScanRow) => Promise.resolve(written.has(row.id));
      return { ...either(), exists, pendingBefore: new Date(Date.now() + 1000), limit: 1000 };
    }
  }
});

function resourceOf(row: ScanRow): AccessibilityScan {
  return {
    apiVersion: 'curbcut.dev/v1',
    kind: 'AccessibilityScan',
    metadata: { name: resourceNameOf(row.id), namespace: NAMESPACE, annotations: { [SCAN_ID_ANNOTATION]: row.id } },
    spec: row.options,
  };
}
