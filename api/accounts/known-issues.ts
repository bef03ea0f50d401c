/** Routes for known issues: accept violations of a site until a date, list, change and remove them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import { auditName } from '../../core/accounts.ts';
import { readDateTime } from '../../core/date-time.ts';
import {
  endMistake,
  ENDING_DAYS,
  isEnding,
  KNOWN_ISSUE_FIELDS,
  KNOWN_ISSUE_MAX_DAYS,
  KNOWN_ISSUES_MAX,
  targetMistake,
} from '../../core/scan/known-issues.ts';
import { nullable } from '../../core/schemas.ts';
import { siteOf } from '../../core/scan/site.ts';
import type { Logger } from '../../platform/logger.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import { ApiError, ValidationFailure, type ValidationType } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { decodeCursor, NEXT_CURSOR, pageOf, pageQuery } from '../http/pagination.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { answer, emptyAnswer, growing, keyOrSession, LIMITED, reference, refusals, WITH_SESSION } from '../http/responses.ts';
import { storesOf } from './scoped-stores.ts';

const SITE_MAX = 260;
const { reason, owner } = KNOWN_ISSUE_FIELDS;
const end = Type.String({
  format: 'date-time',
  description: `When it ends, at most ${KNOWN_ISSUE_MAX_DAYS} days from now. From then on it counts as a violation again.`,
});

/** In examples: an end that may be sent as it is, because a fixed one would soon be past or is too far ahead. */
const EXAMPLE_END = `${new Date(Date.now() + 90 * 86_400_000).toISOString().slice(0, 10)}T12:00:00Z`;

const NewKnownIssue = Type.Object(
  {
    site: Type.String({
      minLength: 1,
      maxLength: SITE_MAX,
      description: 'The host of the site, such as `www.example.com`; with its port if that is not the default.',
    }),
    ...KNOWN_ISSUE_FIELDS,
    expires_at: end,
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

const KnownIssueChange = Type.Object(
  { reason: Type.Optional(reason), owner: Type.Optional(owner), expires_at: Type.Optional(end) },
  { title: 'KnownIssueChange', additionalProperties: false, examples: [{ expires_at: EXAMPLE_END }] },
);

const STATUSES = ['live', 'ending', 'ended'] as const;

export const ListedKnownIssue = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    site: Type.String(),
    fingerprint: nullable(Type.String({ description: 'The fingerprint of a root cause. Null: it has a rule and a selector.' })),
    rule: nullable(Type.String({ description: 'The ID of a rule.' })),
    selector: nullable(Type.String({ description: 'The selector of the elements.' })),
    reason: Type.String(),
    owner: Type.String(),
    expires_at: Type.String({ format: 'date-time' }),
    status: growing(STATUSES, {
      description: `ending: within ${ENDING_DAYS} days. ended: it counts as a violation again, and is removed 90 days after its end.`,
    }),
    created_by: Type.String({ description: 'An e-mail address, or `key:` and the ID of an API key.' }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'KnownIssue' },
);

const KnownIssueList = Type.Object({ data: Type.Array(reference(ListedKnownIssue)), next_cursor: NEXT_CURSOR });
const ById = Type.Object({ known_issue_id: Type.String({ format: 'uuid' }) });

const shared = { tags: ['Known issues'] };
const refused = refusals([...WITH_SESSION, 'known_issue_not_found'], { limited: true, validated: true });
const written = (codes: Parameters<typeof refusals>[0]) =>
  refusals([...WITH_SESSION, 'invalid_csrf_token', 'bad_request', 'payload_too_large', 'unsupported_media_type', ...codes], {
    limited: true,
    validated: true,
  });
const READ = { config: { session: true, permission: 'scans:read' } } as const;
const WRITE = { config: { session: true, permission: 'known-issues:write' } } as const;
const one = answer('The known issue.', reference(ListedKnownIssue), LIMITED, { knownIssue: EXAMPLES.knownIssue });

const SCHEMAS = {
  add: {
    ...shared,
    operationId: 'addKnownIssue',
    summary: 'Accept a known issue',
    description:
      'Either `fingerprint`, or `rule` and `selector`. Scans of the site that start afterwards show what it covers as known, and judge their ' +
      `thresholds without it. A site can have ${KNOWN_ISSUES_MAX} known issues.`,
    security: keyOrSession('known-issues:write'),
    body: NewKnownIssue,
    response: { 201: one, ...written(['too_many_known_issues']) },
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
      ...refusals(WITH_SESSION, { limited: true, validated: true }),
    },
  },
  get: {
    ...shared,
    operationId: 'getKnownIssue',
    summary: 'Get a known issue',
    security: keyOrSession('scans:read'),
    params: ById,
    response: { 200: one, ...refused },
  },
  change: {
    ...shared,
    operationId: 'changeKnownIssue',
    summary: 'Change a known issue',
    description: 'Scans that have started keep what they started with.',
    security: keyOrSession('known-issues:write'),
    params: ById,
    body: KnownIssueChange,
    response: { 200: one, ...written(['known_issue_not_found']) },
  },
  remove: {
    ...shared,
    operationId: 'removeKnownIssue',
    summary: 'Remove a known issue',
    security: keyOrSession('known-issues:write'),
    params: ById,
    response: {
      204: emptyAnswer('The known issue is removed.', LIMITED),
      ...refusals([...WITH_SESSION, 'invalid_csrf_token', 'known_issue_not_found'], { limited: true, validated: true }),
    },
  },
};

export const knownIssueRoutes: FastifyPluginAsyncTypebox<{ now: () => Date; logger: Logger }> = async (scope, { now, logger }) => {
  /** A failure is only logged, because the change was made. */
  async function record(request: FastifyRequest, action: 'add' | 'change' | 'remove', issue: KnownIssueRow): Promise<void> {
    const { id, site, expiresAt, owner } = issue;
    const subject = action === 'remove' ? `${site} ${id}` : `${site} ${id} until ${expiresAt.toISOString()}, ${owner}`;
    const { organisation } = callerOf(request);
    await storesOf(request)
      .audit.record(`known-issue.${action}`, subject)
      .catch((error: unknown) =>
        logger.error({ request: request.id, organisation: organisation.id, issue: id, err: error }, 'audit entry lost'),
      );
  }

  scope.post('/v1/known-issues', { ...WRITE, schema: SCHEMAS.add }, async (request, reply) => {
    const { site, expires_at: ends, ...issue } = request.body;
    const mistake = targetMistake(issue);
    if (mistake !== null) throw refusal([], mistake, 'known_issue.target');
    const fields = {
      ...issue,
      site: checkedSite(site),
      expiresAt: checkedEnd(ends, now()),
      createdBy: auditName(callerOf(request).actor),
      createdAt: now(),
    };
    const added = await storesOf(request).knownIssues.add(fields, request.idempotent?.resourceId);
    if (!added.ok) throw new ApiError(added.reason);
    await record(request, 'add', added.issue);
    return reply.code(201).send(toListed(added.issue, now()));
  });

  scope.get('/v1/known-issues', { ...READ, schema: SCHEMAS.list }, async (request) => {
    const { limit, cursor, site, ends_before: endsBefore } = request.query;
    const filter = { site: site?.toLowerCase(), endsBefore: endsBefore === undefined ? undefined : readDateTime(endsBefore)! };
    const found = await storesOf(request).knownIssues.list({ ...filter, after: decodeCursor(cursor), limit: limit + 1 });
    const { items, nextCursor } = pageOf(found, limit, (issue) => ({ at: issue.createdAt, id: issue.id }));
    return { data: items.map((issue) => toListed(issue, now())), next_cursor: nextCursor };
  });

  scope.get('/v1/known-issues/:known_issue_id', { ...READ, schema: SCHEMAS.get }, async (request) =>
    toListed(found(await storesOf(request).knownIssues.find(request.params.known_issue_id.toLowerCase())), now()),
  );

  scope.patch('/v1/known-issues/:known_issue_id', { ...WRITE, schema: SCHEMAS.change }, async (request) => {
    const { expires_at: ends, ...change } = request.body;
    const id = request.params.known_issue_id.toLowerCase();
    const { knownIssues } = storesOf(request);
    const wanted = { ...change, ...(ends !== undefined && { expiresAt: checkedEnd(ends, now()) }) };
    // An update of no field is an error.
    if (Object.keys(wanted).length === 0) return toListed(found(await knownIssues.find(id)), now());
    const changed = found(await knownIssues.change(id, wanted));
    await record(request, 'change', changed);
    return toListed(changed, now());
  });

  scope.delete('/v1/known-issues/:known_issue_id', { ...WRITE, schema: SCHEMAS.remove }, async (request, reply) => {
    await record(request, 'remove', found(await storesOf(request).knownIssues.remove(request.params.known_issue_id.toLowerCase())));
    return reply.code(204).send();
  });
};

function found(issue: KnownIssueRow | null): KnownIssueRow {
  if (issue === null) throw new ApiError('known_issue_not_found');
  return issue;
}

const refusal = (field: string[], msg: string, type: ValidationType): ValidationFailure =>
  new ValidationFailure([{ loc: ['body', ...field], msg, type }]);

function checkedSite(text: string): string {
  const site = siteOf(`https://${text}`);
  if (site === '' || site !== text.toLowerCase())
    throw refusal(['site'], 'site must be the host of an address, such as www.example.com, without scheme and path.', 'known_issue.site');
  return site;
}

function checkedEnd(text: string, now: Date): Date {
  const ends = readDateTime(text)!;
  const mistake = endMistake(ends, now);
  if (mistake === null) return ends;
  throw refusal(['expires_at'], mistake, ends <= now ? 'date.past' : 'date.too_late');
}

const toListed = (issue: KnownIssueRow, now: Date): Static<typeof ListedKnownIssue> => ({
  id: issue.id,
  site: issue.site,
  fingerprint: issue.fingerprint ?? null,
  rule: issue.rule ?? null,
  selector: issue.selector ?? null,
  reason: issue.reason,
  owner: issue.owner,
  expires_at: issue.expiresAt.toISOString(),
  status: issue.expiresAt <= now ? 'ended' : isEnding(issue.expiresAt.toISOString(), now.toISOString()) ? 'ending' : 'live',
  created_by: issue.createdBy,
  created_at: issue.createdAt.toISOString(),
});
