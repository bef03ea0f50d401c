/** The fingerprint of a request body, which shows whether two requests with one Idempotency-Key ask for the same. */
import { createHash } from 'node:crypto';

/**
 * Hashes a body as the caller sent it, before the server adds its defaults, because an upgrade may change them. The order of
 * the fields does not matter, null equals absent, and the spelling of a URL counts as a browser understands it.
 */
export function fingerprintOf(body: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(normalised(body)) ?? '')
    .digest('hex');
}

function normalised(body: unknown): unknown {
  if (!isObject(body)) return body;
  return fieldsOf(body).map(([name, value]) => {
    if (name === 'url' && typeof value === 'string' && URL.canParse(value)) return [name, new URL(value).href];
    return [name, ordered(value)];
  });
}

/** Objects within objects too, such as metadata and that of a baseline. Lists stay as they are. */
const ordered = (value: unknown): unknown => (isObject(value) ? fieldsOf(value).map(([name, field]) => [name, ordered(field)]) : value);

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldsOf = (value: object): [name: string, value: unknown][] =>
  Object.entries(value)
    .filter(([, field]) => field !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
