/** The schedules of the organisation, read only. */
import type { FastifyPluginAsync } from 'fastify';
import { ValidationFailure } from '../../http/errors.ts';
import { INVALID_CURSOR } from '../../http/pagination.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { schedulesPage, SCHEDULES_PATH } from './page.ts';

const PER_PAGE = 25;

export const schedulePages: FastifyPluginAsync<{ now: () => Date }> = async (scope, { now }) => {
  scope.get(SCHEDULES_PATH, { config: { permission: 'scans:read' } }, async (request, reply) => {
    const { cursor } = request.query as { cursor?: string };
    const found = await storesOf(request).schedules.list({ after: placeOf(cursor), limit: PER_PAGE + 1 });
    const schedules = found.slice(0, PER_PAGE);
    const { namespace, name } = schedules.at(-1) ?? {};
    const nextCursor = found.length > PER_PAGE ? `${namespace}/${name}` : null;
    return reply.page(schedulesPage({ request, schedules, first: cursor === undefined, nextCursor, now: now() }));
  });
};

/** The cursor is the last schedule of the part before. Names are DNS labels and subdomains, which need no encoding. */
function placeOf(cursor: string | undefined): { namespace: string; name: string } | null {
  if (cursor === undefined) return null;
  const [, namespace, name] = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(cursor) ?? [];
  if (namespace === undefined || name === undefined) throw new ValidationFailure([INVALID_CURSOR]);
  return { namespace, name };
}
