/** Makes the OpenAPI 3.1 document from the routes' own schemas, and a reference to read that needs no internet. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { Api } from '../api.ts';
import { LIMITS } from '../rate-limits.ts';

/** Everything the reference loads is its own; it calls nobody but this service. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const DESCRIPTION = `Scans web sites for accessibility and answers with a score, violations by severity, a verdict against thresholds, a PDF and a JSON export.

**Credits.** One credit a page that was really tested. What a scan does not use is given back.

**Limits.** ${LIMITS.key.limit} requests a minute for each API key, and for each organisation ${LIMITS.submissions.limit} submissions, ${LIMITS.reports.limit} report links and ${LIMITS['key-creations'].limit} new keys a minute, in sliding windows. \`RateLimit\` says what is left; after a 429, wait for \`Retry-After\`.

**Errors.** Every error body is \`{"detail": …}\`: a stable code with a \`message\` beside it, or, for a request that is wrong (422), the list of what is wrong.`;

/** Notes every route from now on. */
export async function installOpenApi(app: Api, options: { publicBaseUrl: string; version: string }): Promise<void> {
  await app.register(swagger, {
    convertConstToEnum: false,
    // The name that a schema carries, instead of def-0.
    refResolver: { buildLocalReference: (json, _baseUri, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `schema-${i}`) },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Curbcut',
        version: options.version,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: options.publicBaseUrl }],
      tags: [
        { name: 'Scans', description: 'Submit a scan, poll it, follow it.' },
        { name: 'Reports', description: 'What a scan found, whole.' },
        { name: 'Account', description: 'Credits and API keys.' },
        { name: 'Service', description: 'Documents, health and metrics.' },
      ],
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: '`svc_live_` and 38 letters and digits.' },
        },
      },
    },
    transformObject: (document) => liftRequiredHeaders((document as { openapiObject: Document }).openapiObject) as never,
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: { title: 'Curbcut API' },
    // Without the bar that opens any other document.
    uiConfig: { layout: 'BaseLayout' },
  });
}

interface Header {
  required?: boolean;
  schema: { required?: unknown };
}
interface Document {
  paths?: Record<string, Record<string, { responses?: Record<string, { headers?: Record<string, Header> }> }>>;
}

/** A header's `required` belongs beside its schema, where @fastify/swagger has no place for it. */
function liftRequiredHeaders(document: Document): Document {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path));
  const responses = operations.flatMap((operation) => Object.values(operation.responses ?? {}));
  for (const header of responses.flatMap((response) => Object.values(response.headers ?? {}))) {
    if (header.schema.required !== true) continue;
    delete header.schema.required;
    header.required = true;
  }
  return document;
}
