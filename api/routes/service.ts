/** Routes for the OpenAPI document, health and metrics. They require no API key. */
import { Type } from 'typebox';
import { Report } from '../../core/report/schema.ts';
import { checkReadiness, type Probes, type Readiness } from '../../platform/readiness.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Metrics } from '../metrics.ts';
import { oneOf } from '../../core/schemas.ts';
import { answer, refusals, textAnswer } from '../responses.ts';

const ReadinessBody = Type.Object(
  {
    status: oneOf(['ready', 'not_ready']),
    missing: Type.Array(Type.String(), { description: 'Unavailable dependencies.' }),
    dependencies: Type.Record(Type.String(), oneOf(['ok', 'missing'])),
  },
  { additionalProperties: false },
);

export interface ServiceRouteDeps {
  probes: Probes;
  metrics: Metrics;
}

export const serviceRoutes: FastifyPluginAsyncTypebox<ServiceRouteDeps> = async (app, { probes, metrics }) => {
  const anyJson = Type.Object({}, { additionalProperties: true });
  const failure = refusals(['internal_error']);

  app.get(
    '/openapi.json',
    { schema: service('getOpenApi', 'This document', { 200: answer('OpenAPI 3.1.', anyJson), ...failure }) },
    async (_request, reply) => reply.send(app.swagger()),
  );

  app.get(
    '/schemas/report-v1.json',
    {
      schema: service('getReportSchema', 'The JSON Schema of the JSON export', {
        200: answer('JSON Schema 2020-12.', anyJson),
        ...failure,
      }),
    },
    async () => ({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Curbcut report, version 1', ...Report }),
  );

  const healthy = Type.Object({ status: oneOf(['ok']) }, { additionalProperties: false });
  app.get(
    '/healthz',
    { schema: service('getHealth', 'Check that the process is alive', { 200: answer('The process is alive.', healthy), ...failure }) },
    async () => ({
      status: 'ok',
    }),
  );

  const check = sharePending(() => readiness(probes, metrics));
  app.get(
    '/readyz',
    {
      schema: service('getReadiness', 'Check that every dependency is available', {
        200: answer('Every required dependency is available.', ReadinessBody),
        503: answer('A required dependency is unavailable.', ReadinessBody),
        ...failure,
      }),
    },
    async (_request, reply) => {
      const { ready, missing, dependencies } = await check();
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not_ready', missing, dependencies });
    },
  );

  app.get(
    '/metrics',
    { schema: service('getMetrics', 'Metrics for Prometheus', { 200: textAnswer('The metrics.', 'text/plain'), ...failure }) },
    async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
};

const service = (operationId: string, summary: string, response: Record<number, object>) => ({
  operationId,
  summary,
  tags: ['Service'],
  response,
});

/** Checks every dependency and records the results. */
async function readiness(probes: Probes, metrics: Pick<Metrics, 'dependency'>): Promise<Readiness> {
  const result = await checkReadiness(probes);
  for (const [name, state] of Object.entries(result.dependencies)) metrics.dependency(name, state === 'ok');
  return result;
}

/** Shares one pending check among concurrent requests, so that callers without a key cannot multiply the load on dependencies. */
function sharePending<T>(check: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null;
  return () => {
    pending ??= check().finally(() => {
      pending = null;
    });
    return pending;
  };
}
