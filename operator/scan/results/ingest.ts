/**
 * Ingests a pod's results: verifies its objects, copies them to their final keys, which only the operator writes, and stores
 * the view of the report beside them.
 */
import { createHash } from 'node:crypto';
import {
  EXPORT_MAX_BYTES,
  PDF_MAX_BYTES,
  PICTURES_MAX_BYTES,
  PICTURES_TYPE,
  type PodIdentity,
  type PodStored,
} from '../../../core/protocol/pod-messages.ts';
import { incomingKeys, type Reports } from '../../../stores/reports.ts';
import { hasReport } from '../../../report/diff/baseline.ts';
import { reportKeys } from '../../../report/schema/objects.ts';
import type { VerifiedResult } from '../policy/status.ts';
import type { ScanMetrics } from '../metrics.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Expectation, PageVisit } from './verify.ts';
import type { Verifier } from './verifier.ts';
/** `reason` is the end of the sentence "The scanner's results were refused: …". `unmatchedIssues` are the IDs of known issues that matched nothing. */
export type Ingested = { ok: true; result: VerifiedResult; unmatchedIssues: string[] } | { ok: false; reason: string };

/** The maximum size of an export, in bytes, and the heap limit for verification, in MiB, which exceeds the need of any `isParseable` text. */
export interface IngestBounds {
  exportMaxBytes: number;
  memoryMib: number;
}

export interface IngestControl {
  /** Aborts reads, verification and copies. */
  signal?: AbortSignal;
  /** Asked before the results are published. Default: yes. */
  isWanted?: () => boolean;
}

/** The scan ended while its results were verified. They are not published. */
export class ResultUnwanted extends Error {
  override readonly name = 'ResultUnwanted';
}

export interface Ingestion {
  /**
   * Verifies and publishes the results that a pod announced.
   * @param slot the upload slot that the pod was given
   * @throws ResultUnwanted; other errors if the object store is unavailable, and a retry may succeed
   */
  ingest(stored: PodStored, slot: PodIdentity, expected: Expectation, control?: IngestControl): Promise<Ingested>;
}

export interface IngestionDeps {
  reports: Pick<Reports, 'read' | 'copy' | 'writeView' | 'writeFindings'>;
  bounds: Pick<IngestBounds, 'exportMaxBytes'>;
  verifier: Pick<Verifier, 'verify'>;
  /** Called with the page visits of each accepted export. */
  onPages?: (visits: readonly PageVisit[]) => void;
}

type Fetched = { ok: true; bytes: Uint8Array; etag: string } | { ok: false; reason: string };

const refuse = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });

/** Without the fields that a pod of another version, or a hostile one, adds: the status has no place for them. */
const objectOf = ({ bytes, sha256 }: PodStored['pdf']): PodStored['pdf'] => ({ bytes, sha256 });

export function createIngestion({ reports, bounds, verifier, onPages }: IngestionDeps): Ingestion {
  /** Reads an object and compares it with its announcement. */
  async function fetch(
    [name, key]: readonly [string, string],
    announced: PodStored['pdf'],
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<Fetched> {
    if (announced.bytes > maxBytes) return refuse(`the ${name} has ${announced.bytes} bytes, more than the ${maxBytes} that are accepted.`);
    const read = await reports.read(key, announced.bytes, signal);
    if (!read.ok && read.reason === 'missing') return refuse(`the ${name} was announced, but not stored.`);
    if (!read.ok) return refuse(`the ${name} has more bytes than the announced ${announced.bytes}.`);
    const { bytes } = read;
    if (bytes.byteLength !== announced.bytes)
      return refuse(`the ${name} has ${bytes.byteLength} bytes instead of the announced ${announced.bytes}.`);
    const digest = createHash('sha256').update(bytes).digest('hex');
    return digest === announced.sha256 ? read : refuse(`the digest of the ${name} is not the announced one.`);
  }

  async function ingest(stored: PodStored, slot: PodIdentity, expected: Expectation, control: IngestControl = {}): Promise<Ingested> {
    const { signal, isWanted = () => true } = control;
    const from = incomingKeys(stored.scanId, slot);
    const exportMaxBytes = Math.min(bounds.exportMaxBytes, EXPORT_MAX_BYTES);
    const { baseline } = expected;
    const [pdf, export_, pictures, before] = await Promise.all([
      fetch(['PDF', from.pdf], stored.pdf, PDF_MAX_BYTES, signal),
      fetch(['export', from.export], stored.export, exportMaxBytes, signal),
      stored.pictures === undefined ? null : fetch(['pictures object', from.pictures], stored.pictures, PICTURES_MAX_BYTES, signal),
      hasReport(baseline) ? reports.read(reportKeys(baseline.scanId).export, exportMaxBytes, signal) : null,
    ]);
    if (!pdf.ok) return pdf;
    if (Buffer.from(pdf.bytes.subarray(0, 5)).toString('latin1') !== '%PDF-') return refuse('the PDF is not a PDF.');
    if (!export_.ok) return export_;
    if (pictures?.ok === false) return pictures;
    const { judgement, visits, view, unmatchedIssues } = await verifier.verify(
      { export: export_.bytes, pictures: pictures?.bytes ?? null, baseline: before },
      expected,
      signal,
    );
    if (!judgement.ok) return judgement;

    signal?.throwIfAborted();
    if (!isWanted()) throw new ResultUnwanted();
    const to = reportKeys(stored.scanId);
    // One after the other: if the first has changed, no final key is written.
    for (const [key, target, etag, contentType] of [
      [from.export, to.export, export_.etag, 'application/json'],
      [from.pdf, to.pdf, pdf.etag, 'application/pdf'],
      ...(pictures === null ? [] : [[from.pictures, to.pictures, pictures.etag, PICTURES_TYPE] as const]),
    ] as const) {
      const copied = await reports.copy(key, target, { etag, contentType, signal });
      if (!copied.ok) return refuse('the results were changed while they were verified.');
    }
    // Before the scan is done: whoever sees the end of a scan can show its result. The view refers to the findings.
    if (view !== null) {
      await reports.writeFindings(stored.scanId, view.findings, signal);
      await reports.writeView(stored.scanId, view.json, signal);
    }
    onPages?.(visits);
    const { outcome, verdict, partial } = judgement;
    return { ok: true, result: { partial, outcome, verdict, export: objectOf(stored.export), pdf: objectOf(stored.pdf) }, unmatchedIssues };
  }

  return { ingest };
}

/** Measures each ingestion of a pod's results. */
export function instrumentIngestion(ingestion: Ingestion, metrics: Pick<ScanMetrics, 'ingested'>, clock: Clock): Ingestion {
  return {
    async ingest(...args) {
      const start = clock.monotonic();
      const seconds = () => (clock.monotonic() - start) / 1000;
      try {
        const ingested = await ingestion.ingest(...args);
        metrics.ingested(ingested.ok ? 'accepted' : 'refused', seconds());
        return ingested;
      } catch (error) {
        // A scan that is canceled while its results are verified is no error.
        if (!(error instanceof ResultUnwanted)) metrics.ingested('error', seconds());
        throw error;
      }
    },
  };
}
