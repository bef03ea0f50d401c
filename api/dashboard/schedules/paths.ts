/** What the routes of schedules share: their addresses, and what was done. */
import type { FastifyReply } from 'fastify';
import { schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import { ApiError, ValidationFailure } from '../../http/errors.ts';
import { INVALID_CURSOR } from '../../http/pagination.ts';

export const READ = { config: { permission: 'scans:read' } } as const;
export const WRITE = { config: { permission: 'scans:write' } } as const;
export const ONE = `${SCHEDULES_PATH}/:namespace/:name`;
export type One = { Params: DashboardScheduleRef };

/** The number of next runs that pages show. */
export const NEXT_RUNS = 5;

export const DONE = {
  created: 'The schedule was created.',
  changed: 'The changes were saved. They apply to runs that start from now on.',
  suspend: 'The schedule is suspended: no scan starts at its times.',
  resume: 'The schedule is active again.',
  run: 'A run was requested. Its scan appears below within seconds; if a scan of this schedule still runs, when that has ended.',
  deleted: 'The schedule was deleted.',
};

/** Leads to the page of a schedule, which says what was done. */
export const backTo = (reply: FastifyReply, ref: DashboardScheduleRef, done: keyof typeof DONE): FastifyReply =>
  reply.redirect(`${schedulePath(ref)}?done=${done}`, 303);

const NAMESPACE = /^[a-z0-9-]{1,63}$/;
const NAME = /^[a-z0-9.-]{1,253}$/;

/** Names are DNS labels and subdomains, which need no encoding. @throws ApiError if they are none: such a schedule does not exist */
export function refOf({ namespace, name }: DashboardScheduleRef): DashboardScheduleRef {
  if (!NAMESPACE.test(namespace) || !NAME.test(name)) throw new ApiError('not_found');
  return { namespace, name };
}

/** The cursor is the last schedule of the part before. @throws ValidationFailure if it is none */
export function placeOf(cursor: unknown): DashboardScheduleRef | null {
  if (cursor === undefined) return null;
  const [namespace = '', name = '', ...others] = typeof cursor === 'string' ? cursor.split('/') : [];
  if (!NAMESPACE.test(namespace) || !NAME.test(name) || others.length > 0) throw new ValidationFailure([INVALID_CURSOR]);
  return { namespace, name };
}
