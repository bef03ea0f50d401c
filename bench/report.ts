/** Measures the report of a large scan: aggregation, export and PDF, in a process with the pod's settings. */
import { join } from 'node:path';
import { SCANNER_PROGRAM } from '../core/protocol/scanner-program.ts';
import { measure } from './measure.ts';

export interface ReportCost {
  violations: number;
  /** Root causes. */
  causes: number;
  /** Wall time of aggregation and export. */
  exportSeconds: number;
  pdfSeconds: number;
  /** CPU time of all, which other processes on the machine do not change. */
  cpuSeconds: number;
  exportBytes: number;
  pdfBytes: number;
  /** Resident memory of the process before the report, with the scan's findings, and at most. */
  beforeBytes: number;
  peakBytes: number;
}

/** @param perPage violations on each page */
export async function measureReport(pages: number, perPage: number): Promise<ReportCost> {
  const flags = SCANNER_PROGRAM.filter((argument) => argument.startsWith('--'));
  const program = join(import.meta.dirname, 'report-process.ts');
  const { code, stdout, stderr } = await measure(process.execPath, [...flags, program, String(pages), String(perPage)], { memory: false });
  if (code !== 0) throw new Error(`the report failed: ${stderr}`);
  return JSON.parse(stdout) as ReportCost;
}
