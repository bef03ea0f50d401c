/** Describes the Idempotency-Key of a route in its schema, from which the OpenAPI document is generated. */
import type { RouteOptions } from 'fastify';
import { HEADERS, idempotencyKeyHeader, refusals } from '../responses.ts';

interface Answer {
  description: string;
  headers?: Record<string, object>;
  content?: Record<string, { examples?: object }>;
}
type Answers = Record<string, Answer>;

const MEANING =
  'For 24 hours, a request with the same key, body and sender returns the first response and does nothing. The same key with ' +
  'another request is rejected.';

/** Adds the header, the conflict of two requests, and `Idempotent-Replayed` in the successful responses. */
export function documentIdempotency(route: RouteOptions): void {
  const schema = (route.schema ??= {});
  const headers = (schema.headers ?? {}) as { properties?: object };
  const own = idempotencyKeyHeader(MEANING);
  schema.headers = { ...own, ...headers, properties: { ...headers.properties, ...own.properties } };
  // Routes share the parts of their schemas, so these are not changed.
  const answers = { ...(schema.response as Answers | undefined) };
  for (const [status, answer] of Object.entries(answers))
    if (Number(status) < 400)
      answers[status] = { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': HEADERS['Idempotent-Replayed'] } };
  // The rate limits come first in the routes of a caller.
  const limited = route.config?.permission !== undefined;
  const refused = refusals(['idempotency_conflict'], { limited }) as Answers;
  for (const [status, answer] of Object.entries(refused))
    answers[status] = status === '409' ? merged(answers[status], answer) : (answers[status] ?? answer);
  schema.response = answers;
}

/** One status has one response in the document, with an example for each code. */
function merged(present: Answer | undefined, added: Answer): Answer {
  if (present === undefined) return added;
  const [[mediaType, content]] = Object.entries(present.content!) as [[string, { examples?: object }]];
  const examples = { ...content.examples, ...added.content![mediaType]!.examples };
  return { ...present, description: `${present.description} Or: ${added.description}`, content: { [mediaType]: { ...content, examples } } };
}
