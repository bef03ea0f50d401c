/** Routes for known issues: accept violations of a site until a date, list, change and remove them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { Type, type Static } from 'typebox';
import { readDateTime } from '../../core/date-time.ts';
import {
  ENDING_DAYS,
  KNOWN_ISSUE_FIELDS,
  KNOWN_ISSUE_KINDS,
  KNOWN_ISSUE_MAX_DAYS,
  KNOWN_ISSUES_MAX,
  readSite,
  SITE_MAX,
} from '../../core/scan/known-issues.ts';
import { growing, nullable } from '../../core/schemas.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import { EXAMPLES } from '../http/examples.ts';
import { IF_MATCH } from '../http/preconditions.ts';
import { decodeCursor, NEXT_CURSOR, pageOf, pageQuery } from '../http/pagination.ts';
import {
  answer,
  created,
  emptyAnswer,
  keyOrSession,
  LIMITED,
  MANIFEST_FIELDS,
  reference,
  refusals,
  CHANGES,
  VERSIONED,
  WITH_BODY,
  WITH_SESSION,
} from '../http/responses.ts';
import { createKnownIssueManagement, KNOWN_ISSUE_STATUSES, knownIssueTag, statusOf } from './known-issue-management.ts';
import { storesOf } from './scoped-stores.ts';

const { reason, owner } = KNOWN_ISSUE_FIELDS;
const end = Type.String({
  format: 'date-time',
  description: `When it ends, at most ${KNOWN_ISSUE_MAX_DAYS} days from now. From then on it counts as if it did not exist.`,
});

/** In examples: an end that may be sent as it is, because a fixed one would soon be past or is too far ahead. */
export const EXAMPLE_END = `${new Date(Date.now() + 90 * 86_400_000).toISOString().slice(0, 10)}T12:00:00Z`;

export const NewKnownIssue = Type.Object(
  {
    site: Type.String({
      minLength: 1,
      maxLength: SITE_MAX,
      description:
        'The host of the site, such as `www.example.com`, with its port if that is not the default; or its address without a path.',
    }),
    ...KNOWN_ISSUE_FIELDS,
    expires_at: end,
    scan_id: Type.Optional(
      Type.String({ format: 'uuid', description: 'The scan that shows it: lists then have its severity, and an example of an element.' }),
    ),
  },
  {
    title: 'NewKnownIssue',
    additionalProperties: false,
    examples: [
      {
        site: 'www.example.com',
        fingerprint: '8f14e45fceea167a',
        reason: 'The supplier of the player fixes it in version 3.',
        owner: 'video team',
        expires_at: EXAMPLE_END,
      },
    ],
  },
);

export const KnownIssueChange = Type.Object(
  { reason: Type.Optional(reason), owner: Type.Optional(owner), expires_at: Type.Optional(end) },
  { title: 'KnownIssueChange', additionalProperties: false, examples: [{ expires_at: EXAMPLE_END }] },
);

export const ListedKnownIssue = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    site: Type.String(),
    kind: growing(KNOWN_ISSUE_KINDS, { description: 'What a person says: see the request.' }),
    fingerprint: nullable(Type.String({ description: 'The fingerprint of a root cause. Null: it has a rule and a selector.' })),
    rule: nullable(Type.String({ description: 'The ID of a rule.' })),
    selector: nullable(Type.String({ description: 'The selector of the elements.' })),
    reason: Type.String(),
    owner: Type.String(),
    expires_at: Type.String({ format: 'date-time' }),
    status: growing(KNOWN_ISSUE_STATUSES, {
      description: `ending: within ${ENDING_DAYS} days. ended: it has no effect any more, and is removed 90 days after its end.`,
    }),
    created_by: Type.String({ description: 'An e-mail address, or `key:` and the ID of an API key, or `manifest`.' }),
    created_at: Type.String({ format: 'date-time' }),
    manifest: nullable(
      Type.Object(MANIFEST_FIELDS, {
        description: 'The KnownIssues resource that declares it and alone changes it. Null: REST and the dashboard change it.',
      }),
    ),
  },
  { $id: 'KnownIssue' },
);

const KnownIssueList = Type.Object({ data: Type.Array(reference(ListedKnownIssue)), next_cursor: NEXT_CURSOR });
const ById = Type.Object({ known_issue_id: Type.String({ format: 'uuid' }) });

const shared = { tags: ['Known issues'] };
const READ = { config: { session: true, permission: 'scans:read' } } as const;
const WRITE = { config: { session: true, permission: 'known-issues:write' } } as const;
const one = answer('The known issue.', reference(ListedKnownIssue), VERSIONED, { knownIssue: EXAMPLES.knownIssue });

const SCHEMAS = {
  add: {
    ...shared,
    operationId: 'addKnownIssue',
    summary: 'Accept a known issue, or decide what needs review',
    description:
      'Either `fingerprint`, or `rule` and `selector`. Scans of the site that start afterwards show what it covers as known, and judge their ' +
      'thresholds without it; or, with `kind`, count what needs review as fine or as a violation. ' +
      `A site can have ${KNOWN_ISSUES_MAX} known issues.`,
    security: keyOrSession('known-issues:write'),
    body: NewKnownIssue,
    response: {
      201: created('The new known issue.', reference(ListedKnownIssue), { knownIssue: EXAMPLES.knownIssue }, ['ETag']),
      ...refusals([...CHANGES, ...WITH_BODY, 'scan_not_found', 'too_many_known_issues', 'known_issue_exists']),
    },
  },
  list: {
    ...shared,
    operationId: 'listKnownIssues',
    summary: 'List the known issues',
    security: keyOrSession('scans:read'),
    querystring: pageQuery({
      site: Type.Optional(Type.String({ maxLength: SITE_MAX, description: 'Only those of this host.' })),
      ends_before: Type.Optional(Type.String({ format: 'date-time', description: 'Only those that end at this time or before.' })),
    }),
    response: {
      200: answer('The known issues, newest first.', KnownIssueList, LIMITED, { knownIssues: EXAMPLES.knownIssues }),
      ...refusals(WITH_SESSION),
    },
  },
  get: {
    ...shared,
    operationId: 'getKnownIssue',
    summary: 'Get a known issue',
    security: keyOrSession('scans:read'),
    params: ById,
    response: { 200: one, ...refusals([...WITH_SESSION, 'known_issue_not_found']) },
  },
  change: {
    ...shared,
    operationId: 'changeKnownIssue',
    summary: 'Change a known issue',
    description: 'Scans that have started keep what they started with.',
    security: keyOrSession('known-issues:write'),
    params: ById,
    headers: IF_MATCH,
    body: KnownIssueChange,
    response: {
      200: one,
      ...refusals([...CHANGES, ...WITH_BODY, 'known_issue_not_found', 'known_issue_managed_by_manifest', 'precondition_failed']),
    },
  },
  remove: {
    ...shared,
    operationId: 'removeKnownIssue',
    summary: 'Remove a known issue',
    security: keyOrSession('known-issues:write'),
    params: ById,
    response: {
      204: emptyAnswer('The known issue is removed.', LIMITED),
      ...refusals([...CHANGES, 'known_issue_not_found', 'known_issue_managed_by_manifest']),
    },
  },
};

export const knownIssueRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const { now, logger } = scope;
  const management = createKnownIssueManagement({ now, logger });

  function tagged(reply: FastifyReply, issue: KnownIssueRow) {
    reply.header('ETag', knownIssueTag(issue));
    return toListed(issue, now());
  }

  scope.post('/v1/known-issues', { ...WRITE, schema: SCHEMAS.add }, async (request, reply) =>
    reply.code(201).send(tagged(reply, await management.add(request, request.body, request.idempotent?.resourceId))),
  );

  scope.get('/v1/known-issues', { ...READ, schema: SCHEMAS.list }, async (request) => {
    const { limit, cursor, site, ends_before: endsBefore } = request.query;
    const filter = {
      site: site === undefined ? undefined : (readSite(site) ?? site),
      endsBefore: endsBefore === undefined ? undefined : readDateTime(endsBefore)!,
    };
    const found = await storesOf(request).knownIssues.list({ ...filter, after: decodeCursor(cursor), limit: limit + 1 });
    const { items, nextCursor } = pageOf(found, limit, (issue) => ({ at: issue.createdAt, id: issue.id }));
    return { data: items.map((issue) => toListed(issue, now())), next_cursor: nextCursor };
  });

  scope.get('/v1/known-issues/:known_issue_id', { ...READ, schema: SCHEMAS.get }, async (request, reply) =>
    tagged(reply, await management.find(request, request.params.known_issue_id)),
  );

  scope.patch('/v1/known-issues/:known_issue_id', { ...WRITE, schema: SCHEMAS.change }, async (request, reply) =>
    tagged(reply, await management.change(request, request.params.known_issue_id, request.body)),
  );

  scope.delete('/v1/known-issues/:known_issue_id', { ...WRITE, schema: SCHEMAS.remove }, async (request, reply) => {
    await management.remove(request, request.params.known_issue_id);
    return reply.code(204).send();
  });
};

const toListed = (issue: KnownIssueRow, now: Date): Static<typeof ListedKnownIssue> => ({
  id: issue.id,
  site: issue.site,
  kind: issue.kind ?? 'accepted',
  fingerprint: issue.fingerprint ?? null,
  rule: issue.rule ?? null,
  selector: issue.selector ?? null,
  reason: issue.reason,
  owner: issue.owner,
  expires_at: issue.expiresAt.toISOString(),
  status: statusOf(issue, now),
  created_by: issue.createdBy,
  created_at: issue.createdAt.toISOString(),
  manifest: issue.manifest,
});
