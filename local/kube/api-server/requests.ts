/** Dispatches a request on a resource to its verb. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed, noSuchResource, notFound } from '../status.ts';
import type { Json } from '../types.ts';
import { readObject } from './bodies/bodies.ts';
import { flag, list, present, watch } from './reads.ts';
import type { Answer, RequestDeps, ResourceRequest } from './resource-request.ts';
import { apply, isApply, patch, patched, remove } from './writes.ts';

export interface Requests {
  /** @returns the answer; null if it is a stream, which goes on @throws StatusError */
  serve(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<Answer | null>;
  /** Ends every watch. */
  close(): void;
}

/** The verb of a request. @throws StatusError 404, 405 if the resource does not have it */
function verbOf({ resource, name, subresource, query }: ResourceRequest, method: string | undefined): string {
  if (subresource !== '' && !(subresource === 'status' && resource.statusSubresource))
    throw resource.custom ? notFound(resource, name) : noSuchResource();
  if (method === 'GET') return flag(query.get('watch')) ? 'watch' : name === '' ? 'list' : 'get';
  const onCollection: Record<string, string> = { POST: 'create' };
  const onObject: Record<string, string> = { PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  const verb = (name === '' ? onCollection : onObject)[method ?? ''];
  if (verb === undefined || !resource.verbs.includes(verb)) throw methodNotAllowed();
  if (subresource !== '' && !['patch', 'update'].includes(verb)) throw methodNotAllowed();
  return verb;
}

export function openRequests(deps: RequestDeps): Requests {
  const { objects } = deps;
  const watches = new Set<() => void>();

  function startWatch(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): null {
    const stop = watch(deps, wanted, request, response);
    watches.add(stop);
    response.on('close', () => watches.delete(stop));
    return null;
  }

  async function serve(wanted: ResourceRequest, request: IncomingMessage, response: ServerResponse): Promise<Answer | null> {
    const { resource, namespace, name, subresource, query } = wanted;
    const warnings: string[] = [];
    const options = {
      fieldValidation: query.get('fieldValidation') ?? 'Warn',
      dryRun: query.getAll('dryRun').includes('All'),
      fieldManager: query.get('fieldManager') ?? undefined,
      warnings,
    };
    const answer = (body: Json, code = 200): Answer => ({ code, body, warnings });
    switch (verbOf(wanted, request.method)) {
      case 'watch':
        return startWatch(wanted, request, response);
      case 'list':
        return answer(list(deps, wanted, request));
      case 'get':
        return answer(present(deps, wanted, request, objects.get(resource, namespace, name)));
      case 'create': {
        const body = await readObject(request, resource);
        return answer(present(deps, wanted, request, objects.create(resource, namespace, body, options)), 201);
      }
      case 'update': {
        const body = await readObject(request, resource);
        const object = objects.update(resource, namespace, name, () => body, subresource, options);
        return answer(present(deps, wanted, request, object));
      }
      case 'patch': {
        if (isApply(wanted, request)) {
          const { object, created } = await apply(deps, wanted, request, options);
          return answer(present(deps, wanted, request, object), created ? 201 : 200);
        }
        const change = await patched(wanted, request);
        return answer(present(deps, wanted, request, patch(deps, wanted, change, options)));
      }
      default:
        return answer(await remove(deps, wanted, request));
    }
  }

  return {
    serve,
    close() {
      for (const stop of [...watches]) stop();
    },
  };
}
