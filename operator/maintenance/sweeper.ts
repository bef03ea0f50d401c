/** Repairs the leftovers of crashes and deletes expired reports. Every step is idempotent. */
import { scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { judgeWithoutResult } from '../../core/scan/thresholds.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Credits } from '../../stores/credits/credits.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { Organisations } from '../../stores/accounts/organisations.ts';
import { incomingPrefix, reportKeys, type Reports } from '../../stores/reports.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { sweep } from './sweep.ts';
import { RESOURCE_GONE } from '../scan/policy/condition-reasons.ts';
import type { Mirror } from '../scan/mirror.ts';
import { SCANS } from '../scan/kube-types.ts';
import type { ScanClient } from '../scan/scan-client.ts';

export interface SweeperDeps {
  connection: KubernetesConnection;
  scanClient: Pick<ScanClient, 'get'>;
  scans: Scans;
  credits: Credits;
  organisations: Organisations;
  reports: Pick<Reports, 'remove' | 'removeAll'>;
  mirror: Pick<Mirror, 'change'>;
  /** Reconciles a scan again and rewrites its row. */
  reconcileAgain: (scan: AccessibilityScan) => void;
  apiNamespace: string;
  /** Days to keep the reports of an ended scan. */
  retentionDays: number;
  /** The age at which a pending row counts as abandoned, in milliseconds. */
  pendingForMs: number;
  /** The time without a change after which a live row is compared with its resource, in milliseconds. */
  staleForMs: number;
  logger: Logger;
  now: () => Date;
}

/** The number of repairs of one sweep. */
export interface SweepResult {
  accepted: number;
  discarded: number;
  settled: number;
  relayed: number;
  /** Live rows whose resource is gone. */
  orphaned: number;
  /** Ended scans whose retention has expired. */
  expired: number;
}

/** Higher than the limit of live scans, so that rows that wait for admission do not hide other rows. */
const STALE_MAX = 10_000;
const BATCH = 200;

/** Returns a function that sweeps once. It throws the first error of a store; earlier repairs remain. */
export function createSweeper(deps: SweeperDeps): () => Promise<SweepResult> {
  const { scanClient, connection, scans, credits, mirror, now } = deps;

  const isOf = (row: ScanRow) => (scan: AccessibilityScan | undefined) =>
    scan !== undefined && scanIdOf(scan, deps.apiNamespace) === row.id;

  async function resourceOf(row: ScanRow): Promise<AccessibilityScan | null> {
    const { namespace, name } = row.resource;
    const known = scanClient.get(namespace, name);
    if (known !== undefined && isOf(row)(known)) return known;
    try {
      const scan = await connection.request<AccessibilityScan>('GET', connection.path(SCANS, namespace, name));
      return isOf(row)(scan) ? scan : null;
    } catch (error) {
      // Check the reason and the name: a missing custom resource definition also causes a 404.
      if (error instanceof KubernetesError && error.reason === 'NotFound' && error.message.includes(name)) return null;
      throw error;
    }
  }

  /** Compares live rows with the resources that exist. */
  async function orphans(): Promise<number> {
    let orphaned = 0;
    for (const row of await scans.stale(new Date(now().getTime() - deps.staleForMs), STALE_MAX)) {
      const scan = await resourceOf(row);
      if (scan !== null) {
        deps.reconcileAgain(scan);
        continue;
      }
      // Someone removed the finalizer by force, or the cluster was lost.
      await credits.settle(row.organisation, row.id, 0);
      await mirror.change(row.id, {
        phase: 'failed',
        passed: judgeWithoutResult(row.options.thresholds),
        message: RESOURCE_GONE,
        finishedAt: now(),
      });
      orphaned += 1;
    }
    return orphaned;
  }

  async function expire(): Promise<number> {
    const before = new Date(now().getTime() - deps.retentionDays * 86_400_000);
    let expired = 0;
    for (let rows = await scans.expired(before, BATCH); rows.length > 0; rows = await scans.expired(before, BATCH)) {
      for (const row of rows) {
        // Objects first: without the row they could not be found again.
        await deps.reports.remove(Object.values(reportKeys(row.id)));
        // An upload may have finished after its scan ended.
        await deps.reports.removeAll(incomingPrefix(row.id));
        await scans.forget(row.id);
        expired += 1;
      }
    }
    return expired;
  }

  return async () => {
    const pendingBefore = new Date(now().getTime() - deps.pendingForMs);
    const exists = async (row: ScanRow) => (await resourceOf(row)) !== null;
    const swept = await sweep({ scans, credits, organisations: deps.organisations, exists, pendingBefore, limit: BATCH });
    const result = { ...swept, orphaned: await orphans(), expired: await expire() };
    if (result.discarded + result.settled + result.orphaned + result.expired > 0) deps.logger.info(result, 'swept');
    return result;
  };
}
