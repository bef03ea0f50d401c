/** An OpenTelemetry collector for tests: receives spans by OTLP over HTTP and records them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostInUrl } from '../../platform/listen.ts';

export interface SeenSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  failed: boolean;
}

export interface Collector {
  url: string;
  spans: SeenSpan[];
  /** Headers of the last request. */
  headers: () => Record<string, unknown>;
  close(): Promise<void>;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}
interface Body {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Omit<SeenSpan, 'attributes' | 'service' | 'failed'> & { attributes: Attribute[]; status: { code?: number } })[];
    }[];
  }[];
}

const read = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export async function startCollector(host = '127.0.0.1'): Promise<Collector> {
  const spans: SeenSpan[] = [];
  let headers: Record<string, unknown> = {};
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      if (request.method !== 'POST' || request.url !== '/v1/traces') return response.writeHead(404).end();
      headers = request.headers;
      for (const { resource, scopeSpans } of (JSON.parse(text) as Body).resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            service: String(read(resource.attributes)['service.name']),
            attributes: read(span.attributes),
            failed: span.status.code === 2,
          });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${hostInUrl(host)}:${(server.address() as AddressInfo).port}`,
    spans,
    headers: () => headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
