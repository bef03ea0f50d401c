/** Routes for the OpenAPI document and health. They require no API key. Readiness and metrics are on another port (`main.ts`). */
import { Type } from 'typebox';
import { Report } from '../../report/schema/report.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { oneOf } from '../../core/schemas.ts';
import { answer, refusals } from './responses.ts';

export const serviceRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const anyJson = Type.Object({}, { additionalProperties: true });
  const failure = refusals(['internal_error'], { limited: false, validated: false });

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

  const healthy = Type.Object({ status: oneOf(['ok']) });
  app.get(
    '/healthz',
    { schema: service('getHealth', 'Check that the process is alive', { 200: answer('The process is alive.', healthy), ...failure }) },
    async () => ({
      status: 'ok',
    }),
  );
};

const service = (operationId: string, summary: string, response: Record<number, object>) => ({
  operationId,
  summary,
  tags: ['Service'],
  response,
});
