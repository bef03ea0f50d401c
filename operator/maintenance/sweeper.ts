/** Repairs what crashes left behind, and deletes what has been kept long enough. Every step may be repeated. */
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
  /** Reconciles a scan again and writes its row. */
  reconcileAgain: (scan: AccessibilityScan) => void;
  apiNamespace: string;
  /** How long the reports of an ended scan are kept, in days. */
  retentionDays: number;
  /** The age at which a row that is still pending was abandoned by its submitter, in milliseconds. */
  pendingForMs: number;
  /** The time without a change after which a live row is compared with its resource, in milliseconds. */
  staleForMs: number;
  logger: Logger;
  now: () => Date;
}

/** What one sweep repaired. */
export interface SweepResult {
  accepted: number;
  discarded: number;
  settled: number;
  relayed: number;
  /** Live rows whose resource is gone. */
  orphaned: number;
  /** Ended scans whose reports were kept long enough. */
  expired: number;
}

/** More than the limit of live scans: rows that only wait for admission must not hide the others. */
const STALE_MAX = 10_000;
const BATCH = 200;

/** One sweep. @throws the first error of a store; what was repaired until then stays repaired */
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
      // By reason: if the custom resource definition is missing, the answer is also a 404, which says nothing about this scan.
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
      // Its finalizer was removed by force, or the cluster was lost.
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
        // The objects first: without the row no one could find them.
        await deps.reports.remove(Object.values(reportKeys(row.id)));
        // Usually nothing: an upload that ended after its scan did.
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
