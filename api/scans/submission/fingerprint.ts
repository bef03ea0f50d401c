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
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.entries(body)
    .filter(([, value]) => value !== null)
    .map(([name, value]: [string, unknown]) => [
      name,
      name === 'url' && typeof value === 'string' && URL.canParse(value) ? new URL(value).href : value,
    ])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}
