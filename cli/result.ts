/** Results of scans in the form of the scan object of the HTTP API: the same for a service, a cluster and a local scan. Pure. */
import type { Metadata } from '../core/scan/metadata.ts';
import type { Outcome } from '../core/scan/outcome.ts';
import { comparisonResult, knownResult, scoreAndCounts } from '../core/scan/result.ts';
import type { ScanResult } from './service/messages.ts';

/** A scan that has no scan object. */
export interface Described {
  scanId: string;
  url: string;
  status: string;
  /** Null without a result. */
  outcome: Outcome | null;
  passed: boolean | null;
  message: string | null;
  /** Relative to the address of the service; null: there is no report, or no service. */
  reportUrl: string | null;
  metadata: Metadata;
}

/** A result with all fields that the command line reads. */
export type FullResult = ScanResult & { url: string; metadata: Metadata };

export function resultOf({ scanId, url, status, outcome, passed, message, reportUrl, metadata }: Described): FullResult {
  return {
    scan_id: scanId,
    url,
    status,
    ...scoreAndCounts(outcome),
    passed,
    message,
    report_url: reportUrl,
    metadata,
    baseline: outcome?.baseline === undefined ? null : comparisonResult(outcome.baseline),
    known_issues: knownResult(outcome),
  };
}
