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
import type { OperatorContext } from '../../context.ts';
import type { Expectation, Verified } from './verify.ts';

/** `reason` is the end of the sentence "The scanner's results were refused: …". `unmatchedIssues` are the IDs of known issues that matched nothing, `issueExamples` what the others matched. */
export type Ingested =
  ({ ok: true; result: VerifiedResult } & Pick<Verified, 'unmatchedIssues' | 'issueExamples'>) | { ok: false; reason: string };

/** The scan ended while its results were verified. They are not published. */
export class ResultUnwanted extends Error {
  override readonly name = 'ResultUnwanted';
}

type Fetched = { ok: true; bytes: Uint8Array; etag: string } | { ok: false; reason: string };

const refuse = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });

/** Without the fields that a pod of another version, or a hostile one, adds: the status has no place for them. */
const objectOf = ({ bytes, sha256 }: PodStored['pdf']): PodStored['pdf'] => ({ bytes, sha256 });

export interface IngestTask {
  stored: PodStored;
  slot: PodIdentity;
  expected: Expectation;
  /** Asked before the results are published. */
  isWanted: () => boolean;
}

/** Verifies, publishes and measures results. @throws ResultUnwanted; other errors if the object store is unavailable, and a retry may succeed */
export async function ingest(context: OperatorContext, task: IngestTask, signal: AbortSignal): Promise<Ingested> {
  const { clock, metrics } = context;
  const start = clock.monotonic();
  const seconds = () => (clock.monotonic() - start) / 1000;
  try {
    const ingested = await verifyAndPublish(context, task, signal);
    metrics.ingested(ingested.ok ? 'accepted' : 'refused', seconds());
    return ingested;
  } catch (error) {
    // A scan that is canceled while its results are verified is no error.
    if (!(error instanceof ResultUnwanted)) metrics.ingested('error', seconds());
    throw error;
  }
}

async function verifyAndPublish(
  { reports, settings, verifier, metrics }: OperatorContext,
  { stored, slot, expected, isWanted }: IngestTask,
  signal: AbortSignal,
): Promise<Ingested> {
  const from = incomingKeys(stored.scanId, slot);
  const exportMaxBytes = Math.min(settings.ingest.exportMaxBytes, EXPORT_MAX_BYTES);
  const { baseline } = expected;
  const fetched = (name: string, key: string, announced: PodStored['pdf'], maxBytes: number) =>
    fetchObject(reports, [name, key], announced, maxBytes, signal);
  const [pdf, export_, pictures, before] = await Promise.all([
    fetched('PDF', from.pdf, stored.pdf, PDF_MAX_BYTES),
    fetched('export', from.export, stored.export, exportMaxBytes),
    stored.pictures === undefined ? null : fetched('pictures object', from.pictures, stored.pictures, PICTURES_MAX_BYTES),
    hasReport(baseline) ? reports.read(reportKeys(baseline.scanId).export, exportMaxBytes, signal) : null,
  ]);
  if (!pdf.ok) return pdf;
  if (Buffer.from(pdf.bytes.subarray(0, 5)).toString('latin1') !== '%PDF-') return refuse('the PDF is not a PDF.');
  if (!export_.ok) return export_;
  if (pictures?.ok === false) return pictures;
  const objects = { export: export_.bytes, pictures: pictures?.bytes ?? null, baseline: before };
  const { judgement, visits, view, ...issues } = await verifier.verify(objects, expected, signal);
  if (!judgement.ok) return judgement;

  signal.throwIfAborted();
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
  metrics.pagesVisited(visits);
  const { outcome, verdict, partial } = judgement;
  return { ok: true, result: { partial, outcome, verdict, export: objectOf(stored.export), pdf: objectOf(stored.pdf) }, ...issues };
}

/** Reads an object and compares it with its announcement. */
async function fetchObject(
  reports: Reports,
  [name, key]: readonly [string, string],
  announced: PodStored['pdf'],
  maxBytes: number,
  signal: AbortSignal,
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
