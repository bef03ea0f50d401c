/**
 * Sends spans to an OpenTelemetry collector: OTLP over HTTP, in its JSON encoding. A process imports this file only where
 * a collector is configured. The OpenTelemetry SDK would be ten packages and 20 MB in every image for the same request.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from './logger.ts';
import { readTraceparent, writeTraceparent } from '../core/protocol/traceparent.ts';
import type { Attributes, Tracer } from './tracing.ts';

export interface OtlpOptions {
  /** The collector's base address, such as http://collector:4318. */
  endpoint: string;
  /** For the collector's own sign-in, as OTEL_EXPORTER_OTLP_HEADERS writes them: `name=value,name=value`. */
  headers?: string;
  service: string;
  version: string;
  logger: Logger;
  /** How long spans are gathered before they are sent, in milliseconds. */
  gatherMs?: number;
}

/** More are dropped: a collector that is away must not fill the memory. */
const WAITING_MAX = 2048;
const BATCH = 512;
const SEND_WITHIN_MS = 3_000;
/** The values of SpanKind and StatusCode in opentelemetry/proto/trace/v1/trace.proto. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: object[];
  status: object;
}

const nanos = (at: Date): string => String(BigInt(at.getTime()) * 1_000_000n);

const wire = (attributes: Attributes): object[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : typeof value === 'boolean'
          ? { boolValue: value }
          : Number.isInteger(value)
            ? { intValue: String(value) }
            : { doubleValue: value },
  }));

function headersOf(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((pair) => {
    const [name, ...value] = pair.split('=');
    return value.length === 0 ? [] : [[name!.trim(), decodeURIComponent(value.join('=').trim())] as const];
  });
  return Object.fromEntries(pairs);
}

export function createOtlpTracer(options: OtlpOptions): Tracer {
  const { logger, gatherMs = 1_000 } = options;
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  const headers = { ...headersOf(options.headers), 'content-type': 'application/json' };
  const resource = { attributes: wire({ 'service.name': options.service, 'service.version': options.version }) };
  const waiting: WireSpan[] = [];
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> = Promise.resolve();
  let failing = false;

  async function send(spans: WireSpan[]): Promise<void> {
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'curbcut' }, spans }] }] });
    try {
      const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(SEND_WITHIN_MS) });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the collector answered with ${answer.status}`);
      if (failing) logger.info({}, 'spans are sent again');
      failing = false;
    } catch (error) {
      if (!failing)
        logger.warn({ error: error instanceof Error ? error.message : String(error) }, 'spans are lost until the collector answers');
      failing = true;
    }
  }

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH);
      sending = sending.then(() => send(batch));
    }
    return sending;
  }

  function keep(span: WireSpan): void {
    if (waiting.length >= WAITING_MAX) return;
    waiting.push(span);
    timer ??= setTimeout(() => void flush(), gatherMs).unref();
  }

  return {
    start(name, { parent, kind = 'internal', attributes = {}, at = new Date(), id } = {}) {
      const above = readTraceparent(parent);
      // Whoever began the trace decided that it is not recorded.
      if (above !== null && !above.sampled) return { traceparent: parent, end: () => undefined };
      const traceId = above?.traceId ?? randomBytes(16).toString('hex');
      const spanId = id ?? randomBytes(8).toString('hex');
      let ended = false;
      return {
        traceparent: writeTraceparent({ traceId, spanId, sampled: true }),
        end({ attributes: more = {}, error, at: endedAt = new Date() } = {}) {
          if (ended) return;
          ended = true;
          keep({
            traceId,
            spanId,
            ...(above !== null && { parentSpanId: above.spanId }),
            name,
            kind: KINDS[kind],
            startTimeUnixNano: nanos(at),
            endTimeUnixNano: nanos(endedAt),
            attributes: wire({ ...attributes, ...more }),
            status: error === undefined ? {} : { code: STATUS_ERROR, message: error },
          });
        },
      };
    },
    async close() {
      // A collector that is away must not hold up the end of a process: one batch' time for all of them.
      await Promise.race([flush(), new Promise((resolve) => setTimeout(resolve, SEND_WITHIN_MS).unref())]);
    },
  };
}
