/** Converts one export in a worker thread, so that the process can answer other requests at the same time. */
import { parentPort, workerData } from 'node:worker_threads';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import { formatReport } from '../formats/formats.ts';
import type { ReportFormat } from '../schema/objects.ts';
import { isParseable } from '../schema/export-size.ts';
import type { Report } from '../schema/report.ts';

/** What the thread is given at its start. */
export interface ConvertInput {
  export: Uint8Array;
  format: ReportFormat;
  pictures: Uint8Array | null;
}

/** The converted report as text, or why there is none. Stored exports were verified, but maybe by another version. */
export type ConvertMessage = Uint8Array | 'too_large' | 'other_version';

function convert({ export: bytes, format, pictures }: ConvertInput): ConvertMessage {
  if (!isParseable(bytes)) return 'too_large';
  const report = JSON.parse(new TextDecoder().decode(bytes)) as Report;
  try {
    return Buffer.from(formatReport(format, report, pictures));
  } catch (error) {
    if ((report as Partial<Report>).tools?.curbcut !== CURBCUT_VERSION) return 'other_version';
    throw error;
  }
}

parentPort!.postMessage(convert(workerData as ConvertInput));
