/** Answers known paths that are asked with the wrong method: 405 and what would be right, not a 404 that hides the path. */
import type { Api } from '../api.ts';
import { ApiError } from '../errors.ts';
import { refuse } from './errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Notes every route of the document from now on. Call the returned function last: it answers the methods that no route took. */
export function collectMethods(app: Api): () => void {
  const taken = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method, schema }) => {
    if ((schema as { hide?: boolean } | undefined)?.hide) return;
    const methods = taken.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one);
    taken.set(url, methods);
  });
  return () => {
    for (const [url, taking] of taken) {
      const methods = [...taking];
      const rest = METHODS.filter((method) => !methods.includes(method));
      if (rest.length === 0) continue;
      app.route({
        url,
        method: [...rest],
        schema: { hide: true },
        // Refused before the body is looked at, whatever it is.
        onRequest: (request, reply, _done) => {
          reply.header('Allow', methods.join(', '));
          refuse(new ApiError('method_not_allowed'), request, reply);
        },
        handler: () => undefined,
      });
    }
  };
}
