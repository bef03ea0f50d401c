/** Paged lists: all pages show the state at the revision of the first page. */
import { badRequest, expired, StatusError } from '../status.ts';
import type { Matches } from './selectors.ts';
import type { Store } from '../storage/store.ts';
import type { KubeObject, Resource } from '../types.ts';

export interface Page {
  items: KubeObject[];
  revision: number;
  /** Empty on the last page. */
  continue: string;
  remaining?: number;
}

interface Token {
  v: 'curbcut/v1';
  rv: number;
  /** The last key of the previous page. */
  after: string;
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

function readToken(text: string): Token {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Token;
    if (Number.isInteger(token.rv) && typeof token.after === 'string') return token;
  } catch {
    // Reported below, with one message for every cause.
  }
  throw badRequest('invalid continue token: continue key is not valid');
}

/** @throws StatusError 400 for an invalid token, 410 for an expired one, 504 for a revision in the future */
export function pageOf(store: Store, wanted: { resource: Resource; namespace: string; query: URLSearchParams }, matches: Matches): Page {
  const { resource, namespace, query } = wanted;
  const limit = Number(query.get('limit') ?? 0);
  const token = query.get('continue') ? readToken(query.get('continue') ?? '') : null;
  const at = Number(query.get('resourceVersion') ?? 0);
  if (at > store.revision()) {
    const message = `Timeout: Too large resource version: ${at}, current: ${store.revision()}`;
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    throw new StatusError(504, 'Timeout', message, { causes, retryAfterSeconds: 1 });
  }
  const revision = token?.rv ?? store.revision();
  const all = token === null ? store.list(resource.storage, namespace) : store.listAt(resource.storage, namespace, revision);
  if (all === null) {
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    );
  }
  const chosen = all.filter((object) => matches(object) && (token === null || keyOf(object) > token.after));
  const items = limit > 0 ? chosen.slice(0, limit) : chosen;
  const last = items.at(-1);
  if (last === undefined || items.length === chosen.length) return { items, revision, continue: '' };
  const next: Token = { v: 'curbcut/v1', rv: revision, after: keyOf(last) };
  const selected = query.get('labelSelector') || query.get('fieldSelector');
  return {
    items,
    revision,
    continue: Buffer.from(JSON.stringify(next)).toString('base64url'),
    // With a selector, the real server does not report the remaining count.
    ...(selected ? {} : { remaining: chosen.length - items.length }),
  };
}
