/** The tracer that packages receive. A W3C traceparent joins the spans of several processes; `otlp.ts` exports them. */
import { errorMessage } from './errors.ts';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** The traceparent of the parent span. If it is absent or invalid, the span starts a new trace. */
  parent?: string;
  kind?: 'internal' | 'server' | 'client';
  attributes?: Attributes;
  /** The start time. Default: now. */
  at?: Date;
  /** The span id, 16 hexadecimal digits, if another process must know it in advance. Default: a random id. */
  id?: string;
}

export interface Span {
  /** The `parent` for child spans, in this or another process; undefined if tracing is off. */
  traceparent: string | undefined;
  /** Ends the span. `error` marks it as failed. */
  end(result?: { attributes?: Attributes; error?: string; at?: Date }): void;
}

export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
  /** Sends the spans that have ended; drops them after a few seconds. */
  close(): Promise<void>;
}

/** The tracer if tracing is off. */
export const NO_TRACER: Tracer = {
  start: () => ({ traceparent: undefined, end: () => undefined }),
  close: () => Promise.resolve(),
};

/** Runs `work` within a span. If `work` throws, the span is marked as failed. */
export async function inSpan<T>(tracer: Tracer, name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  const span = tracer.start(name, options);
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end({ error: errorMessage(error) });
    throw error;
  }
}
