/** The REST routes of schedules. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  DASHBOARD_SCHEDULES_MAX,
  SCHEDULE_DISPLAY_NAME_MAX,
  SCHEDULE_TEXT_MAX,
  type ScanSchedule,
} from '../../core/protocol/scan-schedules.ts';
import { ScanOptions } from '../../core/scan/options.ts';
import { TERMINAL_PHASES } from '../../core/scan/phases.ts';
import { toSubmittedOptions } from '../../core/scan/submitted-options.ts';
import { growing, nullable, open } from '../../core/schemas.ts';
import type { ScheduleProblem } from '../../stores/schedules/schedules.ts';
import { storesOf } from '../accounts/scoped-stores.ts';
import { ApiError } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { NEXT_CURSOR, pageQuery } from '../http/pagination.ts';
import { etagOf, IF_MATCH, requireMatch } from '../http/preconditions.ts';
import {
  answer,
  CHANGES,
  created,
  emptyAnswer,
  keyOrSession,
  LIMITED,
  reference,
  refusals,
  SOURCE_FIELDS,
  VERSIONED,
  WITH_BODY,
  WITH_SESSION,
} from '../http/responses.ts';
import { scanSubmission, toScanOptions } from '../scans/scans.ts';
import { createScheduleManagement, type FoundSchedule, type LiveSchedule, shownOf, toSource, versionOf, wantedOf } from './management.ts';

const { maximum: pagesMax = 0 } = ScanOptions.properties.maxPages as { maximum?: number };

/** The scan of a schedule: a submission that starts later, without a sign-in. Runs start with credits for all pages. */
function scheduledScan(maxPagesLimit: number) {
  const { auth: _auth, fail_on_truncation: _partial, ...properties } = scanSubmission(maxPagesLimit).properties;
  return Type.Object(properties, { additionalProperties: false, required: ['url'], description: 'What each run scans, as a submission.' });
}
type ScheduledScan = Static<ReturnType<typeof scheduledScan>>;

const FIELDS = {
  display_name: nullable(
    Type.String({
      minLength: 1,
      maxLength: SCHEDULE_DISPLAY_NAME_MAX,
      description: 'What people call it. Null: they call it by its site.',
    }),
  ),
  schedule: Type.String({
    minLength: 1,
    maxLength: SCHEDULE_TEXT_MAX,
    description: 'The times: a cron expression of five fields, such as `30 2 * * 1-5`, a macro such as `@daily`, or `@every 12h`.',
  }),
  time_zone: Type.String({ maxLength: 64, description: 'A name of the IANA time zone database.' }),
  suspended: Type.Boolean({ description: 'Whether no scan starts at its times. When it goes on, a missed scan may start at once.' }),
};
const { schedule, time_zone, scan } = EXAMPLES.schedule;

/** The bodies that create and change one. */
function bodiesOf(maxPagesLimit: number) {
  const fields = { ...FIELDS, scan: scheduledScan(maxPagesLimit) };
  const zone = Type.String({ ...FIELDS.time_zone, default: 'UTC' });
  const suspended = Type.Boolean({ ...FIELDS.suspended, default: false });
  const closed = { additionalProperties: false };
  return {
    create: Type.Object(
      { ...fields, time_zone: zone, suspended },
      { ...closed, title: 'NewSchedule', required: ['schedule', 'scan'], examples: [{ schedule, time_zone, scan }] },
    ),
    change: Type.Partial(Type.Object(fields), { ...closed, title: 'ScheduleChange', minProperties: 1, examples: [{ suspended: true }] }),
  };
}

const time = (description: string) => nullable(Type.String({ format: 'date-time', description }));
const problem = (description: string) =>
  nullable(Type.Object({ reason: Type.String(), message: Type.String(), since: Type.String({ format: 'date-time' }) }, { description }));

const listed = {
  id: Type.String({ description: 'The namespace and the name: the end of its address.' }),
  namespace: Type.String(),
  name: Type.String(),
  ...FIELDS,
  url: Type.String(),
  max_pages: Type.Integer({ minimum: 0, description: 'The maximum number of pages and credits of each run.' }),
  source: Type.Object(SOURCE_FIELDS),
  next_at: time('The next run. Null: none will start, or the operator has not seen the schedule yet.'),
  last_scan: nullable(
    Type.Object(
      {
        scan_id: Type.String({ format: 'uuid' }),
        status: growing(TERMINAL_PHASES),
        passed: nullable(Type.Boolean()),
        ended_at: Type.String({ format: 'date-time' }),
      },
      { description: 'The last scan that has ended.' },
    ),
  ),
  active_scans: Type.Integer({ minimum: 0, description: 'The number of scans that have not ended.' }),
  regressed: problem('Why the last scan is worse than the one before it.'),
  stalled: problem('Why somebody must act.'),
  observed_at: time('When the operator last confirmed this. Null: not yet.'),
};
const ListedSchedule = Type.Object(listed, { $id: 'ListedSchedule' });
const AnyScan = scheduledScan(pagesMax);
const Schedule = Type.Object(
  { ...listed, scan: nullable(open(AnyScan)) },
  { $id: 'Schedule', description: 'A schedule. `scan` is null if a manifest declares it.' },
);
const ScheduleList = Type.Object({ data: Type.Array(reference(ListedSchedule)), next_cursor: NEXT_CURSOR });

const ByName = Type.Object({
  namespace: Type.String({ pattern: '^[a-z0-9-]{1,63}$' }),
  name: Type.String({ pattern: '^[a-z0-9.-]{1,253}$' }),
});
const ONE = '/v1/schedules/:namespace/:name';

const operation = (operationId: string, summary: string, description: string, scope: 'scans:read' | 'schedules:write') => ({
  operationId,
  tags: ['Schedules'],
  summary,
  description,
  security: keyOrSession(scope),
});
const examples = { schedule: EXAMPLES.schedule };
const one = answer('The schedule.', reference(Schedule), VERSIONED, examples);
const OWN = [...CHANGES, 'schedule_not_found', 'schedule_read_only'] as const;
const WRITES = ['schedule_changed', 'schedule_refused'] as const;

const SCHEMAS = {
  list: {
    ...operation('listSchedules', 'List the schedules', 'By namespace and name, as the operator saw them last.', 'scans:read'),
    querystring: pageQuery({}),
    response: { 200: answer('The schedules.', ScheduleList, LIMITED, { schedules: EXAMPLES.schedules }), ...refusals(WITH_SESSION) },
  },
  get: {
    ...operation('getSchedule', 'Get a schedule', 'Also one of a manifest, which is changed only there.', 'scans:read'),
    params: ByName,
    response: { 200: one, ...refusals([...WITH_SESSION, 'schedule_not_found']) },
  },
  create: {
    ...operation(
      'createSchedule',
      'Create a schedule',
      'Each run submits the scan for your organisation, if there are credits for all of its pages. Runs do not overlap. ' +
        `An organisation can have ${DASHBOARD_SCHEDULES_MAX} schedules, in addition to those of manifests.`,
      'schedules:write',
    ),
    response: {
      201: created('The new schedule.', reference(Schedule), examples, ['ETag']),
      ...refusals([...CHANGES, ...WITH_BODY, 'too_many_schedules', ...WRITES]),
    },
  },
  change: {
    ...operation(
      'changeSchedule',
      'Change, suspend or resume a schedule',
      'Fields that are left out stay as they are; `scan` is replaced as a whole. Runs that have started keep what they started with.',
      'schedules:write',
    ),
    params: ByName,
    headers: IF_MATCH,
    response: { 200: one, ...refusals([...OWN, ...WITH_BODY, ...WRITES, 'precondition_failed']) },
  },
  run: {
    ...operation('runSchedule', 'Run a schedule now', 'If a scan of it still runs, the run starts when that has ended.', 'schedules:write'),
    params: ByName,
    response: {
      202: answer('The run is requested.', reference(Schedule), VERSIONED, examples),
      ...refusals([...OWN, 'schedule_run_requested', ...WRITES]),
    },
  },
  remove: {
    ...operation(
      'deleteSchedule',
      'Delete a schedule',
      'No further scan starts, and one that runs is canceled without a report. The results of others are kept.',
      'schedules:write',
    ),
    params: ByName,
    response: { 204: emptyAnswer('The schedule is deleted.', LIMITED), ...refusals(OWN) },
  },
};

export const scheduleRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const bodies = bodiesOf(scope.settings.maxPagesLimit);
  const management = createScheduleManagement(scope);
  const READ = { config: { session: true, permission: 'scans:read' } } as const;
  const WRITE = { config: { session: true, permission: 'schedules:write' } } as const;
  const STARTS = { config: { ...WRITE.config, limit: 'submissions' } } as const;

  function tagged(reply: FastifyReply, found: FoundSchedule) {
    if (found.live !== null && found.live !== 'down') reply.header('ETag', tagOf(found.live.schedule));
    return toBody(found);
  }
  /** A schedule that was just written. */
  const written = async (request: FastifyRequest, reply: FastifyReply, live: LiveSchedule) =>
    tagged(reply, { row: await storesOf(request).schedules.find(refOf(live)), live });

  scope.get('/v1/schedules', { ...READ, schema: SCHEMAS.list }, async (request) => {
    const { limit, cursor } = request.query;
    const { items, nextCursor } = await management.list(request, { limit, cursor });
    return { data: items.map((row) => toListed({ row, live: null })), next_cursor: nextCursor };
  });

  scope.get(ONE, { ...READ, schema: SCHEMAS.get }, async (request, reply) => {
    const found = await management.read(request, request.params);
    if (found.live === 'down') throw new ApiError('service_unavailable');
    return tagged(reply, found);
  });

  scope.post('/v1/schedules', { ...STARTS, schema: { ...SCHEMAS.create, body: bodies.create } }, async (request, reply) => {
    const { display_name: displayName = null, schedule, time_zone: timeZone, suspended: suspend, scan } = request.body;
    const id = request.idempotent?.resourceId ?? randomUUID();
    const live = await management.create(request, { displayName, schedule, timeZone, suspend, ...wantedScan(scan) }, id);
    return reply.code(201).send(await written(request, reply, live));
  });

  scope.patch(ONE, { ...WRITE, schema: { ...SCHEMAS.change, body: bodies.change } }, async (request, reply) => {
    const { display_name: displayName, schedule, time_zone: timeZone, suspended: suspend, scan } = request.body;
    const change = { displayName, schedule, timeZone, suspend, ...(scan && wantedScan(scan)) };
    const live = await management.change(request, request.params, change, (read) => requireMatch(request, tagOf(read)));
    return written(request, reply, live);
  });

  scope.post(`${ONE}/run`, { ...STARTS, schema: SCHEMAS.run }, async (request, reply) => {
    const live = await management.run(request, request.params, request.idempotent?.resourceId ?? randomUUID());
    return reply.code(202).send(await written(request, reply, live));
  });

  scope.delete(ONE, { ...WRITE, schema: SCHEMAS.remove }, async (request, reply) => {
    await management.remove(request, request.params);
    return reply.code(204).send();
  });
};

const tagOf = (schedule: ScanSchedule): string => etagOf(versionOf(schedule));

const refOf = ({ schedule: { metadata } }: LiveSchedule) => ({ namespace: metadata.namespace!, name: metadata.name });

const wantedScan = ({ baseline, metadata, ...options }: ScheduledScan) => ({ options: toScanOptions(options), baseline, metadata });

function toListed(found: FoundSchedule): Static<typeof ListedSchedule> {
  const { row, live } = found;
  const { namespace, name } = live === null || live === 'down' ? row! : refOf(live);
  const { displayName, schedule, timeZone, suspended, url, maxPages, source, writer } = shownOf(found);
  const { lastScan = null, regressed = null, stalled = null } = row ?? {};
  const said = (one: ScheduleProblem | null) => one && { ...one, since: one.since.toISOString() };
  return {
    id: `${namespace}/${name}`,
    namespace,
    name,
    display_name: displayName,
    schedule,
    time_zone: timeZone,
    suspended,
    url,
    max_pages: maxPages,
    source: toSource(source, writer),
    next_at: row?.nextAt?.toISOString() ?? null,
    last_scan: lastScan && {
      scan_id: lastScan.scanId,
      status: lastScan.phase,
      passed: lastScan.passed,
      ended_at: lastScan.endedAt.toISOString(),
    },
    active_scans: row?.active ?? 0,
    regressed: said(regressed),
    stalled: said(stalled),
    observed_at: row?.observedAt?.toISOString() ?? null,
  };
}

/** With its scan as it can be sent again. */
function toBody(found: FoundSchedule): Static<typeof Schedule> {
  const { live } = found;
  if (live === null || live === 'down') return { ...toListed(found), scan: null };
  const { options, baseline, metadata } = wantedOf(live.schedule);
  const submitted = toSubmittedOptions(options);
  const all: Record<string, unknown> = { url: options.url, ...submitted.options, ...submitted.thresholds, baseline, metadata };
  const names = Object.keys(AnyScan.properties);
  return { ...toListed(found), scan: Object.fromEntries(names.map((name) => [name, all[name]])) as ScheduledScan };
}
