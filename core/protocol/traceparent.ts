/** The `traceparent` header of W3C Trace Context, which joins the spans of several processes. */

export interface Traceparent {
  traceId: string;
  spanId: string;
  sampled: boolean;
}

/** Reads a traceparent (W3C Trace Context, section 3.2); null if it is missing or invalid. */
export function readTraceparent(text: string | undefined): Traceparent | null {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text ?? '');
  if (match === null) return null;
  const [, version, traceId, spanId, flags, more] = match as unknown as [string, string, string, string, string, string | undefined];
  if (version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, sampled }: Traceparent): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
