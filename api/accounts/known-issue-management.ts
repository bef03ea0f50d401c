/** Changes the known issues of a caller's organisation, over REST and in the dashboard. Each change is recorded in the audit log. */
import type { FastifyRequest } from 'fastify';
import { auditName } from '../../core/accounts.ts';
import { readDateTime } from '../../core/date-time.ts';
import {
  endMistake,
  isDecision,
  isEnding,
  readSite,
  targetMistake,
  type KnownIssue,
  type KnownIssueExample,
  type KnownIssueTarget,
} from '../../core/scan/known-issues.ts';
import type { Logger } from '../../platform/logger.ts';
import { findAbout, toExample } from '../../report/causes/known.ts';
import {
  changeableOf,
  type ChangedKnownIssue,
  type KnownIssueChange,
  type KnownIssueRow,
  type SiteMatches,
} from '../../stores/known-issues/known-issues.ts';
import { ApiError, ValidationFailure, type ValidationType } from '../http/errors.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { etagOf, readToMatch } from '../http/preconditions.ts';
import { recordChange, storesOf } from './scoped-stores.ts';

export interface KnownIssueManagementDeps {
  now: () => Date;
  logger: Logger;
}

/** A request that was checked against its schema. */
export interface WantedKnownIssue extends Omit<KnownIssue, 'id' | 'expiresAt'> {
  site: string;
  /** A date and time. */
  expires_at: string;
  /** The scan that shows it. */
  scan_id?: string;
}
export type WantedChange = Partial<Pick<WantedKnownIssue, 'reason' | 'owner' | 'expires_at'>>;

export const KNOWN_ISSUE_STATUSES = ['live', 'ending', 'ended'] as const;
export type KnownIssueStatus = (typeof KNOWN_ISSUE_STATUSES)[number];

export function statusOf({ expiresAt }: Pick<KnownIssueRow, 'expiresAt'>, now: Date): KnownIssueStatus {
  if (expiresAt <= now) return 'ended';
  return isEnding(expiresAt.toISOString(), now.toISOString()) ? 'ending' : 'live';
}

/** What it covers in the newest scan that matched it, else in the scan in which it was accepted. */
export const exampleOf = (issue: KnownIssueRow, matches: SiteMatches | null | undefined): KnownIssueExample | undefined =>
  matches?.examples?.[issue.id] ?? issue.example;

export const knownIssueTag = (issue: KnownIssueRow): string => etagOf(changeableOf(issue));

/** @throws ApiError or ValidationFailure from each method if the request is refused */
export function createKnownIssueManagement({ now, logger }: KnownIssueManagementDeps) {
  async function record(request: FastifyRequest, action: 'add' | 'change' | 'remove', issue: KnownIssueRow): Promise<void> {
    const { id, kind = 'accepted', site, expiresAt, owner } = issue;
    const what = isDecision(issue) ? `${site} ${id} ${kind}` : `${site} ${id}`;
    const subject = action === 'remove' ? what : `${what} until ${expiresAt.toISOString()}, ${owner}`;
    // Repeated requests add one issue, and one entry.
    await recordChange(request, logger, { action: `known-issue.${action}`, subject, ...(action === 'add' && { once: id }) });
  }

  async function find(request: FastifyRequest, id: string): Promise<KnownIssueRow> {
    const found = await storesOf(request).knownIssues.find(id.toLowerCase());
    if (found === null) throw new ApiError('known_issue_not_found');
    return found;
  }

  return {
    find,

    /** @param id a repeated call with the same one adds nothing. Default: random */
    async add(
      request: FastifyRequest,
      { site, expires_at: ends, scan_id: scanId, ...issue }: WantedKnownIssue,
      id?: string,
    ): Promise<KnownIssueRow> {
      const mistake = targetMistake(issue);
      if (mistake !== null) throw refusal([], mistake, 'known_issue.target');
      const example = scanId === undefined ? null : await findExample(request, scanId.toLowerCase(), issue);
      const fields = {
        ...issue,
        ...(example !== null && { example }),
        site: checkedSite(site),
        expiresAt: checkedEnd(ends, now()),
        createdBy: auditName(callerOf(request).actor),
        createdAt: now(),
      };
      const added = await storesOf(request).knownIssues.add(fields, id);
      if (!added.ok) throw new ApiError(added.reason, { fields: added.reason === 'known_issue_exists' ? heldBy(added.existing) : {} });
      await record(request, 'add', added.issue);
      return added.issue;
    },

    /** Scans that have started keep what they started with. The `If-Match` of the request counts. */
    async change(request: FastifyRequest, id: string, { expires_at: ends, ...fields }: WantedChange): Promise<KnownIssueRow> {
      const read = await readToMatch(request, () => find(request, id), knownIssueTag);
      const change: KnownIssueChange = { ...fields, ...(ends !== undefined && { expiresAt: checkedEnd(ends, now()) }) };
      // An update of no field is an error.
      if (Object.keys(change).length === 0) return read ?? find(request, id);
      const changed = made(await storesOf(request).knownIssues.change(id.toLowerCase(), change, read));
      await record(request, 'change', changed);
      return changed;
    },

    async remove(request: FastifyRequest, id: string): Promise<KnownIssueRow> {
      const removed = made(await storesOf(request).knownIssues.remove(id.toLowerCase()));
      await record(request, 'remove', removed);
      return removed;
    },
  };
}

/** What it covers in a scan. Null if the report does not show it, or is not stored. @throws ApiError if there is no such scan */
async function findExample(request: FastifyRequest, scanId: string, target: KnownIssueTarget): Promise<KnownIssueExample | null> {
  const row = await storesOf(request).scans.find(scanId);
  if (row === null) throw new ApiError('scan_not_found');
  // It is only for lists, so that an outage of the object store changes nothing else.
  const view = row.reports === null ? null : await request.server.scanViews.readView(row).catch(() => null);
  const cause = view === null ? undefined : findAbout(isDecision(target) ? view.review_groups : view.groups, target);
  return cause === undefined ? null : toExample(scanId, cause);
}

function made(change: ChangedKnownIssue): KnownIssueRow {
  if (change.ok) return change.issue;
  throw new ApiError(change.reason, { fields: 'issue' in change ? managedBy(change.issue) : {} });
}

/** The fields of an error about a known issue: the manifest that declares it, and a sentence that names it. */
function managedBy({ manifest }: KnownIssueRow): Record<string, unknown> {
  if (manifest === null) return {};
  return {
    manifest,
    message: `The manifest KnownIssues ${manifest.namespace}/${manifest.name} declares this known issue; change it there.`,
  };
}
const heldBy = (existing: KnownIssueRow): Record<string, unknown> => ({ ...managedBy(existing), known_issue_id: existing.id });

const refusal = (field: string[], msg: string, type: ValidationType): ValidationFailure =>
  new ValidationFailure([{ loc: ['body', ...field], msg, type }]);

function checkedSite(text: string): string {
  const site = readSite(text);
  if (site === null)
    throw refusal(['site'], 'site must be a host, such as www.example.com, or an address without a path.', 'known_issue.site');
  return site;
}

function checkedEnd(text: string, now: Date): Date {
  const ends = readDateTime(text)!;
  const mistake = endMistake(ends, now);
  if (mistake === null) return ends;
  throw refusal(['expires_at'], mistake, ends <= now ? 'date.past' : 'date.too_late');
}
