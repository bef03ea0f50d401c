/** Opens the way to an OpenTelemetry collector, where one is configured; else nothing of it is even loaded. */
import { Type } from 'typebox';
import type { Logger } from './logger.ts';
import { NO_TRACER, type Tracer } from './tracing.ts';

/** What a service reads of its environment, under OpenTelemetry's own names. */
export const TracingEnvironment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s/]',
      description: 'the address of an OpenTelemetry collector (OTLP over HTTP) such as http://collector:4318; absent, nothing is traced',
    }),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: Type.Optional(
    Type.String({
      pattern: '^[^=,\\s]+=[^,]*(,[^=,\\s]+=[^,]*)*$',
      secret: true,
      description: 'headers for the collector, as name=value,name=value',
    }),
  ),
};

export async function openTracer(options: {
  endpoint: string | undefined;
  headers?: string;
  service: string;
  version: string;
  logger: Logger;
}): Promise<Tracer> {
  const { endpoint, ...rest } = options;
  if (endpoint === undefined) return NO_TRACER;
  const { createOtlpTracer } = await import('./otlp.ts');
  return createOtlpTracer({ endpoint, ...rest });
}
