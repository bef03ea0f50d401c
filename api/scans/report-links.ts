/** Download links of a scan's reports, for the API and for the dashboard. */
import { isTerminal } from '../../core/scan/phases.ts';
import { PICTURES_NAME, REPORT_FORMATS, type ReportFormat, reportKeys } from '../../report/schema/objects.ts';
import type { ReportFormats, StoredFormat } from '../../report/workers/report-formats.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { ApiError, replicaBusy, type ErrorCode } from '../http/errors.ts';

/** How long a link is valid, in seconds (decisions, "Limits"). */
export const LINK_SECONDS = 3600;
/** The same for readers of a shared result. A link cannot be taken back, so it is valid only for the redirect. */
export const SHARED_LINK_SECONDS = 60;

export type ReportKind = keyof NonNullable<ScanRow['reports']>;

/** The error if the scan is done but the object does not exist. */
export const MISSING: Readonly<Record<ReportKind, ErrorCode>> = { pdf: 'report_not_found', export: 'json_export_unavailable' };

const EXTENSIONS: Readonly<Record<ReportKind, string>> = { pdf: 'pdf', export: 'json' };

export type ReportObjects = Pick<Reports, 'downloadLink' | 'size'>;

/** @throws ApiError if there is no such scan, or if it has no reports */
function requireReports(row: ScanRow | null): asserts row is ScanRow & { reports: NonNullable<ScanRow['reports']> } {
  if (row === null) throw new ApiError('report_not_found');
  if (!isTerminal(row.phase)) throw new ApiError('scan_not_complete');
  if (row.reports === null) throw new ApiError('report_not_found');
}

/**
 * Returns a link to a report of a scan.
 * @param seconds how long it is valid
 * @param row null if the caller has no such scan
 * @throws ApiError if there is no such report
 */
export async function reportLink(
  row: ScanRow | null,
  kind: ReportKind,
  reports: ReportObjects,
  seconds: number = LINK_SECONDS,
): Promise<string> {
  requireReports(row);
  const { key } = row.reports[kind];
  if ((await reports.size(key)) === null) throw new ApiError(MISSING[kind]);
  return reports.downloadLink(key, fileNameOf(row, EXTENSIONS[kind]), seconds);
}

/**
 * Returns a link to a format of a scan's export, which is valid for `LINK_SECONDS`.
 * @param row null if the caller has no such scan
 * @throws ApiError if there is no such report
 */
export async function formatLink(
  row: ScanRow | null,
  format: ReportFormat,
  { reports, formats }: { reports: Pick<Reports, 'downloadLink'>; formats: ReportFormats },
): Promise<string> {
  requireReports(row);
  const stored = await formats.ensure(row, format);
  if (!stored.ok) throw stored.reason === 'busy' ? replicaBusy(stored.limit) : new ApiError(NO_FORMAT[stored.reason]);
  return reports.downloadLink(stored.key, fileNameOf(row, REPORT_FORMATS[format].extension), LINK_SECONDS);
}

const NO_FORMAT: Readonly<Record<Exclude<Extract<StoredFormat, { ok: false }>['reason'], 'busy'>, ErrorCode>> = {
  not_found: 'json_export_unavailable',
  too_large: 'report_format_unavailable',
};

/**
 * Returns a link to the object with all pictures of a scan, which is valid for `LINK_SECONDS`.
 * @param row null if the caller has no such scan
 * @throws ApiError if there is no report, or if it has no pictures
 */
export async function picturesLink(row: ScanRow | null, reports: ReportObjects): Promise<string> {
  requireReports(row);
  const key = reportKeys(row.id).pictures;
  if ((await reports.size(key)) === null) throw new ApiError('pictures_unavailable');
  return reports.downloadLink(key, fileNameOf(row, PICTURES_NAME), LINK_SECONDS);
}

/** A file name from the site's host and the scan ID, in characters that every file system accepts. */
export function fileNameOf(row: Pick<ScanRow, 'id' | 'options'>, extension: string): string {
  const host = new URL(row.options.url).hostname.replace(/[^a-z0-9.-]/gi, '').slice(0, 100);
  return `accessibility-${host}-${row.id.slice(0, 8)}.${extension}`;
}
