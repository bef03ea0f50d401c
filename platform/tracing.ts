/** What rooms need to be traced: spans that belong together over processes by a W3C traceparent. Passed in; `otlp.ts` sends them. */

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** The traceparent of the span that this one is part of; without a valid one it begins a trace. */
  parent?: string;
  kind?: 'internal' | 'server' | 'client';
  attributes?: Attributes;
  /** When it began; absent: now. */
  at?: Date;
  /** Its id, 16 hexadecimal digits, where another process must know it too; absent: a new one. */
  id?: string;
}

export interface Span {
  /** What its parts, here or in another process, name as their parent; undefined where nothing is traced. */
  traceparent: string | undefined;
  /** Ends it. `error` marks it as failed. */
  end(result?: { attributes?: Attributes; error?: string; at?: Date }): void;
}

export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
  /** Sends what has ended, in a few seconds or not at all. */
  close(): Promise<void>;
}

/** Traces nothing. */
export const NO_TRACER: Tracer = {
  start: () => ({ traceparent: undefined, end: () => undefined }),
  close: () => Promise.resolve(),
};

/** Does work within a span, which is failed where the work throws. */
export async function inSpan<T>(tracer: Tracer, name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  const span = tracer.start(name, options);
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end({ error: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}
