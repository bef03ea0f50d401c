/** Serves the Kubernetes probes and Prometheus: `/healthz`, `/readyz`, `/metrics`. */
import fastify from 'fastify';
import type { AddressInfo } from 'node:net';
import { checkReadiness, type Probes } from '../platform/readiness.ts';

export interface ProbeServer {
  /** The port that it listens on. */
  port: number;
  close(): Promise<void>;
}

export interface ProbeServerOptions {
  host: string;
  /** 0 selects any free port. */
  port: number;
  probes: Probes;
  metrics: { contentType: string; metrics(): Promise<string> };
  /** Called for each dependency at every readiness check. */
  onDependency: (name: string, up: boolean) => void;
}

/** Starts the server. @throws if it cannot listen */
export async function serveProbes({ host, port, probes, metrics, onDependency }: ProbeServerOptions): Promise<ProbeServer> {
  const app = fastify({ forceCloseConnections: true });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: 'not_found' }));
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ detail: 'internal_error' }));

  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { ready, missing, dependencies } = await checkReadiness(probes);
    for (const [name, state] of Object.entries(dependencies)) onDependency(name, state === 'ok');
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not_ready', missing, dependencies });
  });
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()));

  await app.listen({ host, port });
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}
