/** A submission, from the key of its caller to the accepted row, with the sweeper before or after the repeated request. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Db } from 'mongodb';
import { createQueueGate, createSubmissions } from '../../../api/scans/submission/submit.ts';
import type { ApiStores } from '../../../api/dependencies.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { NO_TRACER } from '../../../platform/tracing.ts';
import { createKeys } from '../../../stores/accounts/keys.ts';
import { createScans, type ScanRow } from '../../../stores/scans/scans.ts';
import { issueKey } from '../../support/issue-key.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import { sweepOnce } from '../../support/sweep-once.ts';
import { booksOf, creditsOf } from './credit-flows.ts';
import type { Flow, FlowOf } from './flow.ts';
import { addOrganisation, apiStores, isUnavailable } from './key-flows.ts';

const RULE = { policy: 'key', subject: 'k', limit: 5, windowSeconds: 60 };
const now = (): Date => new Date();

/** The response to a repeated request whose first one may still run. */
class TryAgain extends Error {}

/** The custom resources, in memory. */
function resourcesInMemory() {
  const rows = new Map<string, ScanRow>();
  const submit = async (row: ScanRow) => void rows.set(row.id, row);
  const exists = async ({ resource }: Pick<ScanRow, 'resource'>) => [...rows.values()].some((row) => row.resource.name === resource.name);
  return { rows, scanResources: { submit, exists } as unknown as ApiStores['scanResources'] };
}

function submitter(db: Db, scanResources: ApiStores['scanResources']) {
  const stores = apiStores(db, { credits: creditsOf(db), scanResources });
  const submissions = createSubmissions({
    stores,
    resolver: { resolve: async () => ({ ok: true, addresses: ['93.184.215.14'] }) },
    now,
    tracer: NO_TRACER,
    newId: randomUUID,
    namespace: 'curbcut',
    targets: { allow: [], deny: [] },
    testTargets: [],
    allowPrepareSteps: true,
    allowScanSecrets: [],
    queueGate: createQueueGate({ ...stores, now, maxLiveScans: 100, cacheMs: 0 }),
    maxLiveScansPerOrganisation: 100,
    answerFor: ({ id }) => ({ headers: {}, body: id }),
  });
  /** @returns the ID of the scan */
  return async (secret: string): Promise<{ id: string; replayed: boolean }> => {
    expect(await stores.keys.recognise(secret)).to.not.equal(null);
    expect((await stores.rateLimits.admit([RULE])).ok).to.equal(true);
    const idempotency = { key: 'build', fingerprint: 'body' };
    const request = { organisation: 'acme', options: withDefaults({ url: 'https://example.com/' }), partial: false, idempotency };
    const outcome = await submissions.submit(request, silentLogger);
    if (!outcome.ok && outcome.reason === 'idempotency_conflict') throw new TryAgain();
    if (!outcome.ok) throw new Error(outcome.reason);
    return { id: String(outcome.answer.body), replayed: outcome.replayed };
  };
}

function submission(db: Db, healthy: Db, { sweptFirst }: { sweptFirst: boolean }): Flow {
  const { rows, scanResources } = resourcesInMemory();
  const scans = createScans(healthy);
  let secret = '';
  let answered = '';
  const sweep = () => {
    const exists = async (row: ScanRow) => scanResources.exists(row);
    return sweepOnce({ scans, credits: creditsOf(healthy), exists, pendingBefore: new Date(Date.now() + 1000), limit: 100 });
  };
  const submit = submitter(db, scanResources);
  return {
    async prepare() {
      await addOrganisation(healthy);
      await creditsOf(healthy).grant('acme', 'first', 20);
      secret = (await issueKey(createKeys(healthy), 'acme')).secret;
    },
    async attempt() {
      answered = (await submit(secret)).id;
    },
    isOutage: (error) => error instanceof TryAgain || isUnavailable(error),
    async wait() {
      if (sweptFirst) await sweep();
      await healthy.collection('idempotency').updateMany({}, { $set: { leaseUntil: new Date(0) } });
    },
    async end() {
      await sweep();
      const repeated = await submitter(healthy, scanResources)(secret);
      const stored = await scans.findMany([...rows.keys(), answered]);
      const accepted = stored.filter((row) => row.submission === 'accepted');
      // The operator ends a resource whose row is abandoned without running it.
      const running = accepted.filter(({ id }) => rows.has(id));
      const { ledger, ...books } = (await booksOf(healthy, 'acme')) as { ledger: { id: string; pages: number; sequence: number }[] };
      const settled = new Set(ledger.flatMap(({ id }) => (id.startsWith('settle:') ? [id.slice(7)] : [])));
      const charged = ledger.filter(({ id }) => id.startsWith('reserve:') && !settled.has(id.slice(8)));
      return JSON.parse(
        JSON.stringify({
          books,
          charged: charged.map(({ id, pages }) => [id, pages]),
          grants: ledger.filter(({ id }) => id.startsWith('grant:')).length,
          isLedgerGapless: ledger.every(({ sequence }, index) => sequence === index + 1),
          accepted: accepted.map(({ id, pagesReserved }) => [id, pagesReserved]),
          running: running.map(({ id }) => id),
          pending: await healthy.collection('scans').countDocuments({ submission: 'pending' }),
          repeated,
        }).replaceAll(answered, 'the answered scan'),
      ) as unknown;
    },
  };
}

export const submissionThenSweep: FlowOf = (db, healthy) => submission(db, healthy, { sweptFirst: false });
export const sweepThenSubmission: FlowOf = (db, healthy) => submission(db, healthy, { sweptFirst: true });
