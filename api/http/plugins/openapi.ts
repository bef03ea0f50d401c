/** Generates the OpenAPI 3.1 document from the schemas of the routes. `make docs` writes docs/api.md from it. */
import swagger from '@fastify/swagger';
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { cookieRules } from '../../accounts/sessions/plugin.ts';
import { LIMITS } from '../rate-limits.ts';
import { COMPONENTS } from '../responses.ts';

const DESCRIPTION = `Scans web sites for accessibility and returns a score, violations by severity, a verdict against thresholds, a PDF and a JSON export.

## Credits

A scan costs one credit per tested page. Reserved credits that a scan does not use are released.

## Limits

Each API key may send ${LIMITS.key.limit} requests per minute. Each organisation may submit ${LIMITS.submissions.limit} scans, request ${LIMITS.reports.limit} report links and create ${LIMITS['key-creations'].limit} keys per minute. All windows are sliding windows. The \`RateLimit\` header reports the remaining requests; after a 429, wait for \`Retry-After\` seconds.

## Errors

Every error body is \`{"detail": …}\`: a stable code, with a \`message\`, or, for an invalid request (422), a list of its errors.

## Idempotency

Every POST takes an \`Idempotency-Key\`, so that it can be repeated safely, for example after a lost connection: for 24 hours, a request with the same key and body returns the first response, does nothing and charges nothing. If the first response had a secret that is shown once (of an API key or a webhook), it is 409 \`already_created\`, with the ID, instead. Refused and failed requests are not stored. A key names one request of your organisation: the same key with another request is rejected with 422, and with 409 while the first request is in progress. Use a new key, such as a UUID, for each new request.

## Concurrent changes

Responses with one known issue, schedule or webhook have an \`ETag\`, which names the version of what can be changed; a next run, a status or a failed delivery does not count. Send it as \`If-Match\` with a PATCH, so that you do not replace a change that you have not seen: if there is one, the answer is 412 \`precondition_failed\`, and nothing changes.

## Versions

Within \`/v1\`, responses may gain fields, and the values listed in \`x-extensible-enum\` may grow. Ignore unknown fields, and treat an unknown status as not terminal. Requests are strict: an unknown field or query parameter is rejected with 422.`;

/** Register it before the routes: it documents only routes that are registered later. */
const openApi: FastifyPluginAsync = async (app) => {
  const { publicBaseUrl, version } = app.settings;
  for (const schema of COMPONENTS) app.addSchema(schema);
  await app.register(swagger, {
    convertConstToEnum: false,
    // Names a schema by its `$id` instead of def-0.
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `schema-${i}`) },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Curbcut',
        version,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicBaseUrl }],
      tags: [
        { name: 'Scans', description: 'Submit a scan, poll it, or follow its events.' },
        { name: 'Reports', description: 'Links to the PDF report and the JSON export.' },
        { name: 'Public scans', description: 'Scan one page without an account; the result is sent by mail.' },
        { name: 'Schedules', description: 'Scan a site at fixed times.' },
        { name: 'Known issues', description: 'Violations that are accepted until a date.' },
        { name: 'Account', description: 'Credits and API keys.' },
        { name: 'Webhooks', description: 'Have the end of scans, regressions and a low balance sent to your own address.' },
        { name: 'Service', description: 'Documents and health.' },
      ],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description:
              'A key of your organisation: `svc_live_`, or `svc_test_` for a test key, followed by 38 letters and digits. Each operation names the scope that the key needs.',
          },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: cookieRules(publicBaseUrl).session,
            description:
              'The session of a user who is signed in to the dashboard. Requests that change something also need its `X-CSRF-Token`.',
          },
        },
      },
    },
    transformObject: (document) =>
      nameBodies(liftRequiredHeaders(describeParameters((document as { openapiObject: Document }).openapiObject))) as never,
  });
};

interface Header {
  required?: boolean;
  schema: { required?: unknown };
}
interface Operation {
  parameters?: (QueryParameter & { required?: boolean })[];
  requestBody?: { content?: Record<string, { schema: { title?: string } }> };
  responses?: Record<string, { headers?: Record<string, Header> }>;
}
interface Document {
  components?: { schemas?: Record<string, object> };
  paths?: Record<string, Record<string, Operation>>;
}

const operationsOf = (document: Document): Operation[] => Object.values(document.paths ?? {}).flatMap((path) => Object.values(path));

/** A parameter with a default may be left out; @fastify/swagger calls it required. It also cannot describe objects in the query. */
function describeParameters(document: Document): Document {
  for (const parameter of operationsOf(document).flatMap(({ parameters = [] }) => parameters)) {
    if (parameter.schema?.default !== undefined) parameter.required = false;
    describeSpreadQuery(parameter);
  }
  return document;
}

/** Moves `required` of each header from its schema to the header object, where @fastify/swagger cannot put it. */
function liftRequiredHeaders(document: Document): Document {
  const responses = operationsOf(document).flatMap((operation) => Object.values(operation.responses ?? {}));
  for (const header of responses.flatMap((response) => Object.values(response.headers ?? {}))) {
    if (header.schema.required !== true) continue;
    delete header.schema.required;
    header.required = true;
  }
  return document;
}

/** Moves each request body's schema that has a title to `components`, under its title. Fastify needs it inline to validate requests. */
function nameBodies(document: Document): Document {
  const schemas = ((document.components ??= {}).schemas ??= {});
  for (const body of operationsOf(document).flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}))) {
    const { title } = body.schema;
    if (title === undefined) continue;
    schemas[title] = body.schema;
    body.schema = { $ref: `#/components/schemas/${title}` } as never;
  }
  return document;
}

/** The parts of an OpenAPI parameter that this changes. */
interface QueryParameter {
  name: string;
  in: string;
  style?: string;
  explode?: boolean;
  schema?: { default?: unknown; type?: unknown; propertyNames?: unknown };
}

/**
 * Describes a parameter of `spreadQuery` (scans/scan-list.ts). OpenAPI knows no dots, so it is an object whose keys have the prefix,
 * sent as separate parameters.
 */
function describeSpreadQuery(parameter: QueryParameter): void {
  if (parameter.in !== 'query' || parameter.schema?.type !== 'object') return;
  parameter.style = 'form';
  parameter.explode = true;
  parameter.schema = { ...parameter.schema, propertyNames: { pattern: `^${parameter.name}\\.` } };
}

export default fp(openApi, { name: 'openapi' });
