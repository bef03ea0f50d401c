/** Takes in what a pod stored: looks that it is there, is what was announced, and is true, before anything of it is shown to anybody. */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { EXPORT_MAX_BYTES, PDF_MAX_BYTES, type PodStored } from '../../../core/protocol/pod-messages.ts';
import { reportKeys, type Reports } from '../../../stores/reports.ts';
import type { Expectation, Judgement } from './verify.ts';
import type { PageVisit } from './page-visits.ts';
import type { VerifiedResult } from '../policy/status.ts';

export type Ingested = { accepted: true; findings: VerifiedResult } | { accepted: false; why: string };

/** What is taken in at most, in bytes, and how much heap the look at an export may use, in MiB: more than any that `isParseable` needs. */
export interface IngestBounds {
  exportMaxBytes: number;
  pdfMaxBytes: number;
  memoryMib: number;
}

export interface Ingestion {
  /**
   * Checks a pod's stored results.
   * @throws where the object store cannot be reached: that says nothing of the results
   */
  ingest(stored: PodStored, expected: Expectation): Promise<Ingested>;
}

export interface IngestionDeps {
  reports: Reports;
  bounds: IngestBounds;
  /** Is told what became of the pages of each export that is accepted. */
  onPages?: (visits: readonly PageVisit[]) => void;
}

export function createIngestion({ reports, bounds, onPages }: IngestionDeps): Ingestion {
  let turn: Promise<unknown> = Promise.resolve();

  /** One after the other: two large exports at once would need twice the memory. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  }

  /** The object, if it is what was announced; else why it is not. */
  async function fetch(name: string, key: string, announced: PodStored['pdf'], maxBytes: number): Promise<Uint8Array | string> {
    if (announced.bytes > maxBytes) return `the ${name} has ${announced.bytes} bytes, more than the ${maxBytes} that are taken.`;
    const size = await reports.size(key);
    if (size === null) return `the ${name} was announced, but not stored.`;
    if (size !== announced.bytes) return `the ${name} has ${size} bytes instead of the announced ${announced.bytes}.`;
    let bytes: Uint8Array;
    try {
      bytes = await reports.read(key, announced.bytes);
    } catch (error) {
      if (error instanceof RangeError) return `the ${name} grew while it was read.`;
      throw error;
    }
    const digest = createHash('sha256').update(bytes).digest('hex');
    return digest === announced.sha256 && bytes.byteLength === announced.bytes ? bytes : `the ${name} is not the one that was announced.`;
  }

  async function look(stored: PodStored, expected: Expectation): Promise<Ingested> {
    const keys = reportKeys(stored.scanId);
    const pdf = await fetch('PDF', keys.pdf, stored.pdf, Math.min(bounds.pdfMaxBytes, PDF_MAX_BYTES));
    if (typeof pdf === 'string') return { accepted: false, why: pdf };
    if (Buffer.from(pdf.subarray(0, 5)).toString('latin1') !== '%PDF-') return { accepted: false, why: 'the PDF is none.' };
    const bytes = await fetch('export', keys.export, stored.export, Math.min(bounds.exportMaxBytes, EXPORT_MAX_BYTES));
    if (typeof bytes === 'string') return { accepted: false, why: bytes };
    const { judgement, visits } = await examineApart(bytes, expected, bounds.memoryMib);
    if (!judgement.accepted) return judgement;
    onPages?.(visits);
    const { outcome, verdict } = judgement;
    return { accepted: true, findings: { outcome, verdict, export: stored.export, pdf: stored.pdf } };
  }

  return { ingest: (stored, expected) => inTurn(() => look(stored, expected)) };
}

/** Within so many milliseconds an export must have been examined. */
const EXAMINE_WITHIN_MS = 60_000;

interface Examined {
  judgement: Judgement;
  visits: PageVisit[];
}

/** Examines an export in a thread of its own, so that the operator goes on meanwhile, and for so long only. */
function examineApart(bytes: Uint8Array, expected: Expectation, memoryMib: number): Promise<Examined> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./verify-worker.ts', import.meta.url), {
      workerData: { bytes, expected },
      resourceLimits: { maxOldGenerationSizeMb: memoryMib },
      env: {},
    });
    const late = setTimeout(() => {
      resolve({ judgement: { accepted: false, why: 'the export takes too long to be read.' }, visits: [] });
      void worker.terminate();
    }, EXAMINE_WITHIN_MS);
    worker.once('message', (examined: Examined) => resolve(examined));
    worker.once('error', reject);
    worker.once('exit', () => {
      clearTimeout(late);
      reject(new Error('the export was not examined'));
    });
  });
}
