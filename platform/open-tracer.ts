/** Opens the exporter to an OpenTelemetry collector. Without an endpoint, the exporter's module is not loaded. */
import type { Logger } from './logger.ts';
import type { Credential } from './setting-files.ts';
import { NO_TRACER, type Tracer } from './tracing.ts';

export async function openTracer(options: {
  endpoint: string | undefined;
  headers?: Credential;
  service: string;
  version: string;
  logger: Logger;
}): Promise<Tracer> {
  const { endpoint, ...rest } = options;
  if (endpoint === undefined) return NO_TRACER;
  const { createOtlpTracer } = await import('./otlp.ts');
  return createOtlpTracer({ endpoint, ...rest });
}
