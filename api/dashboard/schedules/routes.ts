/** The pages of schedules: the list, one with its runs, and the buttons that run, suspend and delete it. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { nextTimes } from '../../../core/schedule/recurrence.ts';
import { docPath, schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, messageOf, statusOf } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { formOf } from '../../web/html-scope.ts';
import { actorNames } from '../names.ts';
import { doneOf, formIdOf, idOfForm, titledPage } from '../forms.ts';
import { admit } from '../scans/deps.ts';
import { explained, textOf } from '../scans/actions.ts';
import type { ListedSchedule } from '../../../stores/schedules/schedules.ts';
import { code, emptyState, foldedCard, link, linkButton, pagination } from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';

import { scheduleForms } from './form.ts';
import { createScheduleManagement, isReadOnly, nullIfReadOnly, shownOf } from '../../schedules/management.ts';
import {
  backTo,
  deleteSchedulePage,
  DONE,
  NEXT_RUNS,
  ONE,
  type One,
  outdated,
  refOf,
  schedulePage,
  type SchedulePageData,
  scheduleTable,
  WRITE,
} from './pages.ts';
import { english, t } from '../../web/texts.ts';

const READ = { config: { permission: 'scans:read' } } as const;
const PER_PAGE = 25;
const RUNS = 10;

export const schedulePages: FastifyPluginAsync = async (scope) => {
  const { now } = scope;
  const management = createScheduleManagement(scope);
  await scope.register(scheduleForms, { management });

  scope.get<{ Querystring: { cursor?: unknown } }>(SCHEDULES_PATH, READ, async (request, reply) => {
    const cursor = request.query.cursor === undefined ? undefined : String(request.query.cursor);
    const { items: schedules, nextCursor } = await management.list(request, { limit: PER_PAGE, cursor });
    const mayCreate = mayCall(callerOf(request), 'schedules:write');
    const done = doneOf(request, DONE);
    return reply.page(schedulesPage({ request, schedules, first: cursor === undefined, nextCursor, mayCreate, done, now: now() }));
  });

  /** @throws ApiError if the organisation has no such schedule */
  async function pageData(request: FastifyRequest, ref: DashboardScheduleRef): Promise<Omit<SchedulePageData, 'formId'>> {
    const stores = storesOf(request);
    const [found, { rows: runs }] = await Promise.all([management.read(request, ref), stores.scans.search({ schedule: ref, limit: RUNS })]);
    const { schedule, timeZone } = shownOf(found);
    const names = await actorNames(stores, runs, ({ submittedBy }) => submittedBy);
    const next = nextTimes(schedule, timeZone, now(), NEXT_RUNS);
    return { request, ref, ...found, next, runs, names, mayWrite: mayCall(callerOf(request), 'schedules:write'), now: now() };
  }

  scope.get<One>(ONE, READ, async (request, reply) => {
    const data = await pageData(request, refOf(request.params));
    return reply.page(schedulePage({ ...data, formId: randomUUID(), done: doneOf(request, DONE) }));
  });

  /** A button of the page of a schedule. @param act does what it says */
  const action = (name: 'run' | 'suspend' | 'resume', act: (request: FastifyRequest, ref: DashboardScheduleRef) => Promise<unknown>) =>
    scope.post<One>(`${ONE}/${name}`, WRITE, async (request, reply) => {
      const ref = refOf(request.params);
      try {
        if (name === 'run') await admit(request, reply, 'submissions');
        await act(request, ref);
      } catch (error) {
        const refusal = explained(error, reply);
        if (refusal instanceof ApiError && refusal.code === 'schedule_not_found') throw error;
        const data = await pageData(request, ref);
        // The same form again requests the same run.
        const formId = formIdOf(formOf(request.body));
        return reply.page(schedulePage({ ...data, formId, problem: textOf(refusal) }), { status: statusOf(refusal) });
      }
      return backTo(reply, ref, name);
    });
  action('run', (request, ref) => management.run(request, ref, idOfForm(request, formIdOf(formOf(request.body)))));
  action('suspend', (request, ref) => management.change(request, ref, { suspend: true }));
  action('resume', (request, ref) => management.change(request, ref, { suspend: false }));

  scope.get<One>(`${ONE}/delete`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    const schedule = await management.stoppable(request, ref).catch(nullIfReadOnly);
    return schedule === null ? reply.redirect(schedulePath(ref), 303) : reply.page(deleteSchedulePage(request, ref, schedule));
  });

  scope.post<One>(`${ONE}/delete`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    try {
      await management.remove(request, ref);
    } catch (error) {
      if (!isReadOnly(error)) throw error;
      const data = await pageData(request, ref);
      return reply.page(schedulePage({ ...data, formId: randomUUID(), problem: english(messageOf(error)) }), { status: statusOf(error) });
    }
    return reply.redirect(`${SCHEDULES_PATH}?done=deleted`, 303);
  });
};

interface SchedulesPage {
  request: FastifyRequest;
  schedules: readonly ListedSchedule[];
  /** Whether this is the first part of the list. */
  first: boolean;
  nextCursor: string | null;
  mayCreate: boolean;
  done: string | null;
  now: Date;
}

function schedulesPage({ request, schedules, first, nextCursor, mayCreate, done, now }: SchedulesPage): Html {
  const create = mayCreate && linkButton({ text: t`New schedule`, href: `${SCHEDULES_PATH}/new`, kind: 'primary' });
  const body = html`<p class="lead">${t`Scans at fixed times. Those that a manifest in the cluster declares are changed there.`}</p>
    ${create && html`<p>${create}</p>`} ${outdated(schedules, now)}
    ${schedules.length === 0 ? noSchedules(first) : scheduleTable(schedules)}
    ${pagination({ previous: first ? null : SCHEDULES_PATH, next: nextCursor === null ? null : `${SCHEDULES_PATH}?cursor=${nextCursor}` })}
    ${asManifest()}`;
  return titledPage({ request, title: t`Schedules`, active: 'schedules', done, body });
}

function noSchedules(first: boolean): Html {
  if (!first) return emptyState({ title: t`There are no more schedules`, text: t`The list ended with the part before.` });
  return emptyState({
    title: t`There is no schedule`,
    text: t`Create one here, or apply one to a namespace that is charged to your organisation. It appears here within seconds.`,
  });
}

const EXAMPLE = `apiVersion: curbcut.dev/v1
kind: ScanSchedule
metadata:
  name: shop-nightly
  namespace: team-a
spec:
  schedule: 30 2 * * *
  timeZone: Europe/Berlin
  scanTemplate:
    spec:
      url: https://shop.example.com/
      maxPages: 50
      thresholds:
        minScore: 90`;

const asManifest = (): Html =>
  foldedCard({
    id: 'manifests',
    title: t`Schedules as manifests`,
    body: html`<p>
        ${t`Save a manifest, apply it with ${html`<code translate="no">kubectl apply -f shop-nightly.yaml</code>`}, or commit it to the repository that
        Argo CD or Flux applies. The namespace must be charged to your organisation.`}
      </p>
      ${code({ id: 'example', label: t`Manifest of a schedule`, text: EXAMPLE })}
      <p>${t`Run it now, suspend it, or remove it:`}</p>
      ${code({
        id: 'commands',
        label: t`Commands for a schedule`,
        text: `kubectl annotate scanschedule shop-nightly -n team-a curbcut.dev/run="$(date +%s)" --overwrite
kubectl patch scanschedule shop-nightly -n team-a --type=merge -p '{"spec":{"suspend":true}}'
kubectl delete scanschedule shop-nightly -n team-a`,
      })}
      <p>
        ${t`${link(t`For platform teams`, docPath('gitops'))} and ${link(t`Scans as Kubernetes resources`, docPath('kubernetes'))} describe
        every field.`}
      </p>`,
  });
