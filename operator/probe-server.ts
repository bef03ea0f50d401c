/** Answers the cluster's probes and Prometheus: `/healthz`, `/readyz`, `/metrics`. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What readiness depends on. A dependency that is not required is only told of. */
export type Probes = Record<string, { required: boolean; check: () => Promise<unknown> }>;

export interface ProbeServer {
  /** The port that it listens on. */
  port: number;
  close(): Promise<void>;
}

/** A check that takes longer counts as failed, in milliseconds. */
const CHECK_WITHIN_MS = 3_000;

export async function serveProbes(options: {
  host: string;
  port: number;
  probes: Probes;
  metrics: { contentType: string; metrics(): Promise<string> };
  /** Is told of each dependency at every look at readiness. */
  onDependency: (name: string, up: boolean) => void;
}): Promise<ProbeServer> {
  const server = createServer((request, response) => {
    void answer(request.url ?? '/', response).catch(() => reply(response, 500, { status: 'error' }));
  });

  async function answer(url: string, response: ServerResponse): Promise<void> {
    const path = url.split('?', 1)[0];
    if (path === '/healthz') return reply(response, 200, { status: 'ok' });
    if (path === '/readyz') return ready(response);
    if (path !== '/metrics') return reply(response, 404, { detail: 'not_found' });
    response.writeHead(200, { 'content-type': options.metrics.contentType }).end(await options.metrics.metrics());
  }

  async function ready(response: ServerResponse): Promise<void> {
    const names = Object.keys(options.probes);
    const outcomes = await Promise.allSettled(names.map((name) => inTime(options.probes[name]!.check())));
    const missing = names.filter((_, index) => outcomes[index]!.status === 'rejected');
    for (const name of names) options.onDependency(name, !missing.includes(name));
    const ok = missing.every((name) => !options.probes[name]!.required);
    reply(response, ok ? 200 : 503, { status: ok ? 'ready' : 'not_ready', missing });
  }

  await listen(server, options.port, options.host);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function inTime(check: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('no answer in time')), CHECK_WITHIN_MS)));
  return Promise.race([check, late]).finally(() => clearTimeout(timer));
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
