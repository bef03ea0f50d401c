/** Ingests a pod's results: verifies both objects and copies them to their final keys, which only the operator writes. */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { EXPORT_MAX_BYTES, PDF_MAX_BYTES, type PodIdentity, type PodStored } from '../../../core/protocol/pod-messages.ts';
import { incomingKeys, reportKeys, type Reports } from '../../../stores/reports.ts';
import type { Expectation, Judgement } from './verify.ts';
import type { PageVisit } from './page-visits.ts';
import type { VerifiedResult } from '../policy/status.ts';

/** `reason` is the end of the sentence "The scanner's results were refused: …". */
export type Ingested = { ok: true; result: VerifiedResult } | { ok: false; reason: string };

/** The maximum size of export and PDF, in bytes, and the heap limit for verification, in MiB, which exceeds the need of any `isParseable` text. */
export interface IngestBounds {
  exportMaxBytes: number;
  pdfMaxBytes: number;
  memoryMib: number;
}

export interface Ingestion {
  /**
   * Verifies and publishes the results that a pod announced.
   * @param slot the upload slot that the pod was given
   * @throws if the object store is unavailable; a retry may succeed
   */
  ingest(stored: PodStored, slot: PodIdentity, expected: Expectation): Promise<Ingested>;
}

export interface IngestionDeps {
  reports: Pick<Reports, 'read' | 'copy'>;
  bounds: IngestBounds;
  /** Called with the page visits of each accepted export. */
  onPages?: (visits: readonly PageVisit[]) => void;
}

type Fetched = { ok: true; bytes: Uint8Array; etag: string } | { ok: false; reason: string };

const refuse = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });

export function createIngestion({ reports, bounds, onPages }: IngestionDeps): Ingestion {
  let previous: Promise<unknown> = Promise.resolve();

  /** Runs ingestions one at a time, to limit the memory for large exports. */
  function serialize<T>(work: () => Promise<T>): Promise<T> {
    const result = previous.then(work);
    previous = result.catch(() => undefined);
    return result;
  }

  /** Reads an object and compares it with its announcement. */
  async function fetch(name: string, key: string, announced: PodStored['pdf'], maxBytes: number): Promise<Fetched> {
    if (announced.bytes > maxBytes) return refuse(`the ${name} has ${announced.bytes} bytes, more than the ${maxBytes} that are accepted.`);
    const read = await reports.read(key, announced.bytes);
    if (!read.ok && read.reason === 'missing') return refuse(`the ${name} was announced, but not stored.`);
    if (!read.ok) return refuse(`the ${name} has more bytes than the announced ${announced.bytes}.`);
    const { bytes } = read;
    if (bytes.byteLength !== announced.bytes)
      return refuse(`the ${name} has ${bytes.byteLength} bytes instead of the announced ${announced.bytes}.`);
    const digest = createHash('sha256').update(bytes).digest('hex');
    return digest === announced.sha256 ? read : refuse(`the digest of the ${name} is not the announced one.`);
  }

  async function ingest(stored: PodStored, slot: PodIdentity, expected: Expectation): Promise<Ingested> {
    const from = incomingKeys(stored.scanId, slot);
    const [pdf, export_] = await Promise.all([
      fetch('PDF', from.pdf, stored.pdf, Math.min(bounds.pdfMaxBytes, PDF_MAX_BYTES)),
      fetch('export', from.export, stored.export, Math.min(bounds.exportMaxBytes, EXPORT_MAX_BYTES)),
    ]);
    if (!pdf.ok) return pdf;
    if (Buffer.from(pdf.bytes.subarray(0, 5)).toString('latin1') !== '%PDF-') return refuse('the PDF is not a PDF.');
    if (!export_.ok) return export_;
    const { judgement, visits } = await verifyInWorker(export_.bytes, expected, bounds.memoryMib);
    if (!judgement.ok) return judgement;

    const to = reportKeys(stored.scanId);
    // One after the other: if the first has changed, no final key is written.
    for (const [key, target, etag, contentType] of [
      [from.export, to.export, export_.etag, 'application/json'],
      [from.pdf, to.pdf, pdf.etag, 'application/pdf'],
    ] as const) {
      const copied = await reports.copy(key, target, { etag, contentType });
      if (!copied.ok) return refuse('the results were changed while they were verified.');
    }
    onPages?.(visits);
    const { outcome, verdict } = judgement;
    return { ok: true, result: { outcome, verdict, export: stored.export, pdf: stored.pdf } };
  }

  return { ingest: (stored, slot, expected) => serialize(() => ingest(stored, slot, expected)) };
}

/** The time limit for the verification of an export, in milliseconds. */
const VERIFY_TIMEOUT_MS = 60_000;

interface Verified {
  judgement: Judgement;
  visits: PageVisit[];
}

/** Verifies an export in a worker thread, so that the operator stays responsive and can terminate a slow verification. */
function verifyInWorker(bytes: Uint8Array, expected: Expectation, memoryMib: number): Promise<Verified> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./verify-worker.ts', import.meta.url), {
      workerData: { bytes, expected },
      resourceLimits: { maxOldGenerationSizeMb: memoryMib },
      env: {},
    });
    const late = setTimeout(() => {
      resolve({ judgement: { ok: false, reason: 'the export takes too long to verify.' }, visits: [] });
      void worker.terminate();
    }, VERIFY_TIMEOUT_MS);
    worker.once('message', (verified: Verified) => resolve(verified));
    worker.once('error', reject);
    worker.once('exit', () => {
      clearTimeout(late);
      reject(new Error('the verification worker exited without a result'));
    });
  });
}
