/** Serves the Kubernetes probes and Prometheus on a port of its own: `/healthz`, `/readyz`, `/metrics`. Never the public port. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readiness } from './readiness.ts';
import { listenAddress } from './listen.ts';

export interface ProbeServer {
  /** The port that it listens on. */
  port: number;
  close(): Promise<void>;
}

export interface ProbeServerOptions {
  host: string;
  /** 0 selects any free port. */
  port: number;
  /** Must answer at once: the kubelet waits for at most a few seconds. */
  readiness: () => Readiness;
  metrics: { contentType: string; metrics(): Promise<string> };
}

interface Answer {
  status: number;
  type: string;
  body: string;
}

const json = (status: number, body: object): Answer => ({ status, type: 'application/json', body: JSON.stringify(body) });

/** Starts the server. @throws if it cannot listen */
export async function serveProbes({ host, port, readiness, metrics }: ProbeServerOptions): Promise<ProbeServer> {
  const answerTo = async ({ method, url }: IncomingMessage): Promise<Answer> => {
    if (method !== 'GET' && method !== 'HEAD') return json(405, { detail: 'method_not_allowed' });
    switch (url?.split('?')[0]) {
      case '/healthz':
        return json(200, { status: 'ok' });
      case '/readyz': {
        const { ready, missing, dependencies } = readiness();
        return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', missing, dependencies });
      }
      case '/metrics':
        return { status: 200, type: metrics.contentType, body: await metrics.metrics() };
      default:
        return json(404, { detail: 'not_found' });
    }
  };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void answerTo(request)
      .catch(() => json(500, { detail: 'internal_error' }))
      .then(({ status, type, body }) => response.writeHead(status, { 'content-type': type }).end(request.method === 'HEAD' ? '' : body));
  });
  const address = await listenAddress(host);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
