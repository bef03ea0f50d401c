/**
 * The operator's part of a scan's trace. Spans derive from the scan's status, and their ids from the scan's id, so that the
 * replica that sees the end produces the same spans as the one that saw the beginning.
 */
import { createHash } from 'node:crypto';
import { traceOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { readTraceparent, writeTraceparent } from '../../core/protocol/traceparent.ts';
import { inSpan, type Tracer } from '../../platform/tracing.ts';
import { admittedAt } from './kube-types.ts';

export interface ScanTraces {
  /** The scan's Job was created: its wait is over. @returns the parent of the pod's spans, if the scan is traced */
  launched(scan: AccessibilityScan, scanId: string): string | undefined;
  /** The scan has ended. */
  ended(scan: AccessibilityScan, scanId: string, reason: string): void;
  /** Runs `work` in a span of the scan's run. */
  during<T>(name: string, scan: AccessibilityScan, scanId: string, work: () => Promise<T>): Promise<T>;
}

const idOf = (what: 'queue' | 'run', scanId: string): string => createHash('sha256').update(`${what}:${scanId}`).digest('hex').slice(0, 16);

export function createScanTraces(tracer: Tracer): ScanTraces {
  /** The run's span, before it is ended, for what is part of it. */
  function runOf(scan: AccessibilityScan, scanId: string): string | undefined {
    const above = readTraceparent(traceOf(scan));
    return above === null ? undefined : writeTraceparent({ ...above, spanId: idOf('run', scanId) });
  }

  return {
    launched(scan, scanId) {
      const parent = traceOf(scan);
      if (parent === undefined) return undefined;
      const at = new Date(scan.metadata.creationTimestamp!);
      const span = tracer.start('queue', { parent, id: idOf('queue', scanId), at, attributes: { 'curbcut.scan_id': scanId } });
      if (span.traceparent === undefined) return undefined;
      span.end({ at: admittedAt(scan) ?? at });
      return runOf(scan, scanId);
    },
    ended(scan, scanId, reason) {
      const parent = traceOf(scan);
      if (parent === undefined) return;
      const { phase = 'failed', completionTime, attempts = 0 } = scan.status ?? {};
      const at = admittedAt(scan) ?? new Date(scan.metadata.creationTimestamp!);
      const attributes = { 'curbcut.scan_id': scanId, 'curbcut.phase': phase, 'curbcut.reason': reason, 'curbcut.attempts': attempts };
      const span = tracer.start('run', { parent, id: idOf('run', scanId), at, attributes });
      span.end({ ...(completionTime !== undefined && { at: new Date(completionTime) }), ...(phase === 'failed' && { error: reason }) });
    },
    during(name, scan, scanId, work) {
      const parent = runOf(scan, scanId);
      return parent === undefined ? work() : inSpan(tracer, name, { parent, attributes: { 'curbcut.scan_id': scanId } }, work);
    },
  };
}
