/** Plans the writes for a KnownIssues resource: a pure function from the resource and what MongoDB holds to a list of actions. */
import { isDeepStrictEqual } from 'node:util';
import { NAMES_LISTED_MAX, type KnownIssuesResource, type KnownIssuesStatus } from '../../core/protocol/known-issues-resources.ts';
import { ENDING_DAYS, isEnding, KNOWN_ISSUE_MAX_DAYS, readSite, targetKey } from '../../core/scan/known-issues.ts';
import type { SiteMatches } from '../../stores/known-issues/known-issues.ts';
import {
  declaredIssueId,
  type Declaration,
  type DeclaredIssue,
  type ManifestRef,
  type OccupiedSite,
  type StoredDeclaration,
} from '../../stores/known-issues/manifest-known-issues.ts';
import { conditionOf, withConditions, type ConditionUpdate } from '../runtime/conditions.ts';
import type { Plan } from '../runtime/controller.ts';
import { mergePatch, type MergePatch } from '../runtime/resource-client.ts';
import type { NamespaceOwner } from '../schedule/policy/facts.ts';
import { ending, invalidSite, mirrored, noOrganisation, storeUnavailable } from './conditions.ts';
import { judge, type Judged } from './judge.ts';

/** What MongoDB holds. */
export interface KnownIssuesRecord {
  stored: StoredDeclaration | null;
  /** What others have of the site. Null if the manifest has no organisation or no site. */
  occupied: OccupiedSite | null;
  /** What the newest scan of the site says. */
  matches: SiteMatches | null;
}

export interface KnownIssuesFacts {
  manifest: ManifestRef;
  /** Null if it does not exist any more, or is not listed. */
  resource: KnownIssuesResource | null;
  /** Whether the resources of the namespace were listed, or nothing lists them any more. Otherwise the resource may exist. */
  isListed: boolean;
  owner: NamespaceOwner;
  /** Null if MongoDB did not answer. */
  record: KnownIssuesRecord | null;
  now: Date;
}

/** Numbers of known issues, for the audit log. */
export interface Changes {
  added: number;
  changed: number;
  removed: number;
}

/** An Event. */
export interface Note {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export type KnownIssuesAction =
  | { do: 'declare'; declaration: Declaration; before: number | null; changes: Changes }
  | { do: 'withdraw'; stored: StoredDeclaration }
  | { do: 'writeStatus'; patch: MergePatch<KnownIssuesStatus>; notes: Note[] };

/** The delay before MongoDB is asked again after it did not answer, in milliseconds. */
const STORE_RETRY_MS = 5_000;
/** The delay before it is asked whether others have given up what the manifest wants, in milliseconds. */
const TAKEN_RETRY_MS = 30_000;
const DAY_MS = 86_400_000;

export function planKnownIssues(facts: KnownIssuesFacts): Plan<KnownIssuesAction> {
  const { resource, owner, record, now } = facts;
  if (record === null || owner.state === 'unknown') return outage(facts);
  const { stored, occupied, matches } = record;
  const withdrawal: KnownIssuesAction[] = stored === null ? [] : [{ do: 'withdraw', stored }];
  if (resource === null && !facts.isListed && owner.state === 'owned' && owner.organisation === stored?.organisation)
    return { actions: [], wakeAfterMs: null };
  if (resource === null || resource.metadata.deletionTimestamp !== undefined) return { actions: withdrawal, wakeAfterMs: null };
  const site = readSite(resource.spec.site);
  if (owner.state !== 'owned' || site === null || occupied === null) {
    if (withdrawal.length > 0) return { actions: withdrawal, wakeAfterMs: null };
    const { namespace } = facts.manifest;
    const why = owner.state === 'none' ? noOrganisation(namespace) : invalidSite(resource.spec.site);
    return writing(resource, [...why, ending([], [])], {}, now, null);
  }
  // A newer version was applied: this operator's cache is behind, or it is no longer the leader.
  if (stored?.uid === resource.metadata.uid && stored!.generation > resource.metadata.generation!)
    return { actions: [], wakeAfterMs: STORE_RETRY_MS };
  if (stored !== null && stored.organisation !== owner.organisation) return { actions: withdrawal, wakeAfterMs: null };
  const judged = judge(resource.spec, occupied, now, KNOWN_ISSUE_MAX_DAYS);
  const declaration = declarationOf(facts.manifest, resource, { organisation: owner.organisation, site }, judged);
  const live = judged.issues.filter(({ ended }) => !ended).length;
  if (!isStored(declaration, live, stored)) {
    const changes = changesOf(stored, declaration);
    return { actions: [{ do: 'declare', declaration, before: stored?.revision ?? null, changes }], wakeAfterMs: null };
  }
  const { updates, amounts } = describe(facts, judged, site, matches);
  return writing(resource, updates, { organisation: owner.organisation, ...amounts }, now, wakeAfter(judged, now));
}

/** MongoDB does not answer. A resource for which there is nothing to do keeps its status, so that an outage causes few writes. */
function outage({ resource, now }: KnownIssuesFacts): Plan<KnownIssuesAction> {
  const isCurrent = resource?.status?.observedGeneration === resource?.metadata.generation;
  if (resource === null || isCurrent || resource.metadata.deletionTimestamp !== undefined)
    return { actions: [], wakeAfterMs: STORE_RETRY_MS };
  const { observedGeneration: _, conditions: __, ...last } = resource.status ?? {};
  return writing(resource, storeUnavailable(), last, now, STORE_RETRY_MS);
}

function declarationOf(
  manifest: ManifestRef,
  { metadata }: KnownIssuesResource,
  of: Pick<Declaration, 'organisation' | 'site'>,
  { issues }: Judged,
): Declaration {
  const { uid, generation = 1, creationTimestamp } = metadata;
  return { ...manifest, ...of, uid: uid!, generation, createdAt: new Date(creationTimestamp!), issues: issues.map(({ issue }) => issue) };
}

function isStored(declaration: Declaration, live: number, stored: StoredDeclaration | null): boolean {
  if (stored === null) return false;
  const { revision: _, live: storedLive, ...rest } = stored;
  return storedLive === live && isDeepStrictEqual(rest, declaration);
}

function changesOf(stored: StoredDeclaration | null, { site, issues }: Declaration): Changes {
  const before = new Map(stored?.site === site ? stored.issues.map((issue) => [targetKey(issue), issue]) : []);
  const kept = issues.filter((issue) => before.has(targetKey(issue)));
  return {
    added: issues.length - kept.length,
    changed: kept.filter((issue) => !isDeepStrictEqual(before.get(targetKey(issue)), issue)).length,
    removed: (stored?.issues.length ?? 0) - kept.length,
  };
}

const soonestFirst = (a: DeclaredIssue, b: DeclaredIssue): number => a.expiresAt.getTime() - b.expiresAt.getTime();

/** The conditions and numbers of known issues that are stored. */
function describe(
  { manifest, resource, now }: KnownIssuesFacts,
  { issues, problems }: Judged,
  site: string,
  matches: SiteMatches | null,
): { updates: ConditionUpdate[]; amounts: KnownIssuesStatus } {
  const sorted = issues.toSorted((a, b) => soonestFirst(a.issue, b.issue));
  const live = sorted.filter(({ ended }) => !ended);
  const expired = sorted.filter(({ ended }) => ended);
  const soon = live.filter(({ issue }) => isEnding(issue.expiresAt.toISOString(), now.toISOString()));
  const unmatched = new Set(matches?.unmatched);
  const stale = live.filter(({ issue }) => unmatched.has(declaredIssueId(manifest, issue)));
  const labels = (some: typeof issues): string[] => some.map(({ label }) => label);
  return {
    updates: [...mirrored(site, live.length, problems), ending(labels(soon), labels(expired))],
    amounts: {
      issues: resource!.spec.issues.length,
      live: live.length,
      ending: soon.length,
      stale: stale.length,
      expired: expired.length,
      endingNames: labels(soon).slice(0, NAMES_LISTED_MAX),
      staleNames: labels(stale).slice(0, NAMES_LISTED_MAX),
      ...(matches !== null && { lastScanId: matches.scanId }),
    },
  };
}

/** When the clock alone changes the plan: one ends, or will end soon; or others may have given up what the manifest wants. */
function wakeAfter({ issues, problems, changesAt }: Judged, now: Date): number | null {
  const ends = issues.map(({ issue }) => issue.expiresAt.getTime());
  const times = [...ends, ...ends.map((end) => end - ENDING_DAYS * DAY_MS), ...changesAt].filter((time) => time > now.getTime());
  const waits = times.map((time) => time - now.getTime());
  if (problems.some(({ reason }) => reason !== 'Invalid')) waits.push(TAKEN_RETRY_MS);
  return waits.length === 0 ? null : Math.min(...waits);
}

/** Writes the status if it has changed. */
function writing(
  resource: KnownIssuesResource,
  updates: readonly ConditionUpdate[],
  amounts: KnownIssuesStatus,
  now: Date,
  wakeAfterMs: number | null,
): Plan<KnownIssuesAction> {
  const conditions = withConditions(resource, updates, now);
  const patch = mergePatch<KnownIssuesStatus>(resource.status ?? {}, {
    ...amounts,
    observedGeneration: resource.metadata.generation,
    conditions,
  });
  if (patch === null) return { actions: [], wakeAfterMs };
  return { actions: [{ do: 'writeStatus', patch, notes: notesOf(resource, updates) }], wakeAfterMs };
}

/** The Events: known issues that are not in effect, or that end, and are not stated by the status. */
function notesOf({ status }: KnownIssuesResource, updates: readonly ConditionUpdate[]): Note[] {
  return updates.flatMap(({ type, status: holds, reason, message }): Note[] => {
    const isNews = conditionOf(status?.conditions, type)?.message !== message;
    const isWarning = (type === 'Stalled' || type === 'Ending') && holds === 'True';
    return isNews && isWarning ? [{ type: 'Warning', reason, message }] : [];
  });
}
