/**
 * Sends spans to an OpenTelemetry collector with OTLP over HTTP, in the JSON encoding. A process imports this file only if
 * a collector is configured. The OpenTelemetry SDK would add ten packages and 20 MB to every image for the same request.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from './logger.ts';
import { currentOf, type Credential } from './setting-files.ts';
import { withTimeLimit } from './time-limits.ts';
import { readTraceparent, writeTraceparent } from '../core/protocol/traceparent.ts';
import type { Attributes, Tracer } from './tracing.ts';

export interface OtlpOptions {
  /** The collector's base address, such as http://collector:4318. */
  endpoint: string;
  /** Headers that authenticate to the collector, in the form of OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`. */
  headers?: Credential;
  service: string;
  version: string;
  logger: Logger;
  /** How long spans are collected before a batch is sent, in milliseconds. */
  gatherMs?: number;
}

/** Further spans are dropped, because the queue must not fill the memory while the collector is down. */
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

/** @returns a function that sends spans to the collector. It never rejects: spans of a collector that is down are dropped */
function createExport({ endpoint, service, version, logger, ...options }: OtlpOptions): (spans: WireSpan[]) => Promise<void> {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const resource = { attributes: wire({ 'service.name': service, 'service.version': version }) };
  let failing = false;
  return async (spans) => {
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'curbcut' }, spans }] }] });
    try {
      const signal = AbortSignal.timeout(SEND_WITHIN_MS);
      const headers = { ...headersOf(options.headers && currentOf(options.headers)), 'content-type': 'application/json' };
      // The headers authenticate to the collector. fetch would send them along with a redirect to another origin.
      const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the collector responded with status ${answer.status}`);
      if (failing) logger.info({}, 'span export recovered');
      failing = false;
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'span export failed; spans are dropped until the collector responds');
      failing = true;
    }
  };
}

export function createOtlpTracer(options: OtlpOptions): Tracer {
  const { gatherMs = 1_000 } = options;
  const send = createExport(options);
  const waiting: WireSpan[] = [];
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> = Promise.resolve();

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
      // The process that started the trace decided not to sample it.
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
      // All batches together get the time of one, so that a collector that is down does not delay the shutdown.
      await withTimeLimit(flush(), SEND_WITHIN_MS, 'span export').catch(() => undefined);
    },
  };
}
