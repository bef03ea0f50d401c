/**
 * The operator's spans of a scan's trace. They derive from the scan's status and their IDs from the scan's ID, so that every
 * replica produces the same spans.
 */
import { createHash } from 'node:crypto';
import { traceOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { readTraceparent, writeTraceparent } from '../../core/protocol/traceparent.ts';
import { inSpan, type Tracer } from '../../platform/tracing.ts';
import { admittedAt } from './kube-types.ts';

const idOf = (what: 'queue' | 'run', scanId: string): string => createHash('sha256').update(`${what}:${scanId}`).digest('hex').slice(0, 16);

/** The traceparent of the run span, which is emitted only at the end. */
function runOf(scan: AccessibilityScan, scanId: string): string | undefined {
  const above = readTraceparent(traceOf(scan));
  return above === null ? undefined : writeTraceparent({ ...above, spanId: idOf('run', scanId) });
}

/** Ends the queue span. @returns the parent of the pod's spans, if the scan is traced */
export function traceLaunch(tracer: Tracer, scan: AccessibilityScan, scanId: string): string | undefined {
  const parent = traceOf(scan);
  if (parent === undefined) return undefined;
  const at = new Date(scan.metadata.creationTimestamp!);
  const span = tracer.start('queue', { parent, id: idOf('queue', scanId), at, attributes: { 'curbcut.scan_id': scanId } });
  if (span.traceparent === undefined) return undefined;
  span.end({ at: admittedAt(scan) ?? at });
  return runOf(scan, scanId);
}

export function traceEnd(tracer: Tracer, scan: AccessibilityScan, scanId: string, reason: string): void {
  const parent = traceOf(scan);
  if (parent === undefined) return;
  const { phase = 'failed', completionTime, attempts = 0 } = scan.status ?? {};
  const at = admittedAt(scan) ?? new Date(scan.metadata.creationTimestamp!);
  const attributes = { 'curbcut.scan_id': scanId, 'curbcut.phase': phase, 'curbcut.reason': reason, 'curbcut.attempts': attempts };
  const span = tracer.start('run', { parent, id: idOf('run', scanId), at, attributes });
  span.end({ ...(completionTime !== undefined && { at: new Date(completionTime) }), ...(phase === 'failed' && { error: reason }) });
}

/** Runs `work` in a child span of the run span. */
export function traced<T>(tracer: Tracer, name: string, scan: AccessibilityScan, scanId: string, work: () => Promise<T>): Promise<T> {
  const parent = runOf(scan, scanId);
  return parent === undefined ? work() : inSpan(tracer, name, { parent, attributes: { 'curbcut.scan_id': scanId } }, work);
}
