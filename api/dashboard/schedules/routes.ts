/** The pages of schedules: the list, one with its runs, and the buttons that run, suspend and delete it. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { nextTimes } from '../../../core/schedule/recurrence.ts';
import { schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { DependencyDown } from '../../http/dependency-outages.ts';
import { ApiError, statusOf } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { formOf } from '../../web/html-scope.ts';
import { actorNames } from '../actor-names.ts';
import { formIdOf } from '../form-ids.ts';
import { doneOf } from '../forms.ts';
import { admit, type ScanPageDeps } from '../routes/deps.ts';
import { explained, textOf } from '../routes/scan-actions.ts';
import { scheduleForms } from './form-routes.ts';
import { createScheduleManagement, readOnly, ScheduleRefusal, type ManageDeps } from './manage.ts';
import { schedulesPage } from './page.ts';
import { backTo, DONE, NEXT_RUNS, ONE, placeOf, READ, refOf, WRITE, type One } from './paths.ts';
import { deleteSchedulePage, schedulePage, type SchedulePageData } from './schedule-page.ts';

const PER_PAGE = 25;
const RUNS = 10;

export type SchedulePageDeps = Omit<ManageDeps, 'submissions'> & { scans: ScanPageDeps };

export const schedulePages: FastifyPluginAsync<SchedulePageDeps> = async (scope, { scans: deps, now, ...others }) => {
  const management = createScheduleManagement({ ...others, now, submissions: deps.submissions });
  await scope.register(scheduleForms, { management, scans: deps, now });

  scope.get<{ Querystring: { cursor?: unknown } }>(SCHEDULES_PATH, READ, async (request, reply) => {
    const { cursor } = request.query;
    const found = await storesOf(request).schedules.list({ after: placeOf(cursor), limit: PER_PAGE + 1 });
    const schedules = found.slice(0, PER_PAGE);
    const { namespace, name } = schedules.at(-1) ?? {};
    const nextCursor = found.length > PER_PAGE ? `${namespace}/${name}` : null;
    const mayCreate = mayCall(callerOf(request), 'scans:write');
    const done = doneOf(request, DONE);
    return reply.page(schedulesPage({ request, schedules, first: cursor === undefined, nextCursor, mayCreate, done, now: now() }));
  });

  /** @throws ApiError if the organisation has no such schedule */
  async function pageData(request: FastifyRequest, ref: DashboardScheduleRef): Promise<Omit<SchedulePageData, 'formId'>> {
    const stores = storesOf(request);
    const [row, live, { rows: runs }] = await Promise.all([
      stores.schedules.find(ref),
      management.find(request, ref).catch((error: unknown) => {
        if (error instanceof DependencyDown && error.dependency === 'kubernetes') return 'down' as const;
        throw error;
      }),
      stores.scans.search({ schedule: ref, limit: RUNS }),
    ]);
    if (management.isDeleted(row, live)) throw new ApiError('not_found');
    if (row === null && (live === null || live === 'down'))
      throw live === 'down' ? new ApiError('service_unavailable') : new ApiError('not_found');
    const { schedule, timeZone } = live === null || live === 'down' ? row! : live.schedule.spec;
    const names = await actorNames(stores, runs, ({ submittedBy }) => submittedBy);
    const next = nextTimes(schedule, timeZone ?? undefined, now(), NEXT_RUNS);
    return { request, ref, row, live, next, runs, names, mayWrite: mayCall(callerOf(request), 'scans:write'), now: now() };
  }

  scope.get<One>(ONE, READ, async (request, reply) => {
    const data = await pageData(request, refOf(request.params));
    return reply.page(schedulePage({ ...data, formId: randomUUID(), done: doneOf(request, DONE) }));
  });

  /** A button of the page of a schedule. @param act does what it says */
  const action = (name: 'run' | 'suspend' | 'resume', act: (request: FastifyRequest, ref: DashboardScheduleRef) => Promise<void>) =>
    scope.post<One>(`${ONE}/${name}`, WRITE, async (request, reply) => {
      const ref = refOf(request.params);
      try {
        if (name === 'run') await admit(request, reply, deps, 'submissions');
        await act(request, ref);
      } catch (error) {
        const isRefusal = error instanceof ScheduleRefusal;
        const refusal = isRefusal ? null : explained(error, reply);
        if (refusal instanceof ApiError && refusal.code === 'not_found') throw error;
        const data = await pageData(request, ref);
        const problem = refusal === null ? (error as Error).message : textOf(refusal);
        // The same form again requests the same run.
        const formId = formIdOf(formOf(request.body));
        return reply.page(schedulePage({ ...data, formId, problem }), { status: refusal === null ? 409 : statusOf(refusal) });
      }
      return backTo(reply, ref, name);
    });
  action('run', (request, ref) => management.run(request, ref, formIdOf(formOf(request.body))));
  action('suspend', (request, ref) => management.setSuspended(request, ref, true));
  action('resume', (request, ref) => management.setSuspended(request, ref, false));

  scope.get<One>(`${ONE}/delete`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    const schedule = await management.stoppable(request, ref).catch(readOnly);
    return schedule === null ? reply.redirect(schedulePath(ref), 303) : reply.page(deleteSchedulePage(request, ref, schedule));
  });

  scope.post<One>(`${ONE}/delete`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    try {
      await management.remove(request, ref);
    } catch (error) {
      if (!(error instanceof ScheduleRefusal)) throw error;
      return reply.page(schedulePage({ ...(await pageData(request, ref)), formId: randomUUID(), problem: error.message }), { status: 409 });
    }
    return reply.redirect(`${SCHEDULES_PATH}?done=deleted`, 303);
  });
};
