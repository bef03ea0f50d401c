/** Converts one export in a worker thread, so that the process can answer other requests at the same time. */
import { parentPort, workerData } from 'node:worker_threads';
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

/** The converted report as text; null if the export cannot be read. Stored exports were verified, but maybe by another version. */
export type ConvertMessage = Uint8Array | null;

function convert({ export: bytes, format, pictures }: ConvertInput): ConvertMessage {
  if (!isParseable(bytes)) return null;
  try {
    return Buffer.from(formatReport(format, JSON.parse(new TextDecoder().decode(bytes)) as Report, pictures));
  } catch {
    return null;
  }
}

parentPort!.postMessage(convert(workerData as ConvertInput));
