/**
 * Brings MongoDB to a KnownIssues resource and states the result: guard clauses in the order of their precedence. A change is
 * followed by `again`, so that each decision follows from a record that was read after the last change.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type KnownIssuesResource,
  type KnownIssuesSpec,
  type KnownIssuesStatus,
  labelOf,
  NAMES_LISTED_MAX,
} from '../../core/protocol/known-issues-resources.ts';
import {
  ENDING_DAYS,
  endMistake,
  isEnding,
  KNOWN_ISSUE_MAX_DAYS,
  KNOWN_ISSUES_MAX,
  readSite,
  SAME_TARGET,
  claimKey,
  targetMistake,
} from '../../core/scan/known-issues.ts';
import type { SiteMatches } from '../../stores/known-issues/known-issues.ts';
import {
  type Declaration,
  type DeclaredIssue,
  declaredIssueId,
  MANIFEST_ACTOR,
  type ManifestRef,
  type OccupiedSite,
  type StoredDeclaration,
} from '../../stores/known-issues/manifest-known-issues.ts';
import type { OperatorContext } from '../context.ts';
import { conditionOf, type ConditionUpdate, withConditions } from '../runtime/conditions.ts';
import type { Next } from '../runtime/controller.ts';
import { mergePatch, type ResourceClient } from '../runtime/resource-client.ts';
import type { NamespaceOwner } from '../schedule/policy/facts.ts';
import { readDateTime } from '../../core/date-time.ts';
import { ending, invalidSite, mirrored, noOrganisation, type Problem, storeUnavailable } from './conditions.ts';

export interface KnownIssuesFacts {
  manifest: ManifestRef;
  /** Null if it does not exist any more, or is not listed. */
  resource: KnownIssuesResource | null;
  /** Whether the resources of the namespace were listed, or nothing lists them any more. Otherwise the resource may exist. */
  isListed: boolean;
  owner: NamespaceOwner;
  /** What MongoDB holds. Null if it did not answer. */
  record: {
    stored: StoredDeclaration | null;
    /** What others have of the site. Null if the manifest has no organisation or no site. */
    occupied: OccupiedSite | null;
    matches: SiteMatches | null;
  } | null;
  now: Date;
}

export interface KnownIssuesWrites {
  context: OperatorContext;
  client: ResourceClient<KnownIssuesResource>;
  /** Known issues of this manifest were changed or removed: others of the site may wait for what is free now. */
  onFreed(declared: Declaration): void;
}

/** The delay before MongoDB is asked again after it did not answer, in milliseconds. */
const STORE_RETRY_MS = 5_000;
/** The delay before it is asked whether others have given up what the manifest wants, in milliseconds. */
const TAKEN_RETRY_MS = 30_000;
/** The delay before the next attempt after another writer was faster, in milliseconds. */
const CONFLICT_RETRY_MS = 1_000;
const DAY_MS = 86_400_000;

export async function reconcileKnownIssues(facts: KnownIssuesFacts, to: KnownIssuesWrites, signal: AbortSignal): Promise<Next> {
  const { manifest, resource, isListed, owner, record, now } = facts;
  if (record === null || owner.state === 'unknown') return outage(facts, to, signal);
  const { stored, occupied, matches } = record;
  if (resource === null && !isListed && owner.state === 'owned' && owner.organisation === stored?.organisation) return {};
  if (resource === null || resource.metadata.deletionTimestamp !== undefined) return stored === null ? {} : withdraw(manifest, stored, to);
  const site = readSite(resource.spec.site);
  if (owner.state !== 'owned' || site === null || occupied === null) {
    if (stored !== null) return withdraw(manifest, stored, to);
    const why = owner.state === 'none' ? noOrganisation(manifest.namespace) : invalidSite(resource.spec.site);
    return writeStatus(facts, [...why, ending([], [])], {}, to, signal);
  }
  // A newer version was applied: this operator's cache is behind, or it is no longer the leader.
  if (stored?.uid === resource.metadata.uid && stored!.generation > resource.metadata.generation!)
    return { requeueAfterMs: STORE_RETRY_MS };
  const { organisation } = owner;
  if (stored !== null && stored.organisation !== organisation) return withdraw(manifest, stored, to);
  const judged = judge(resource.spec, occupied, now);
  const { uid, generation = 1, creationTimestamp } = resource.metadata;
  const version = { uid: uid!, generation, createdAt: new Date(creationTimestamp!) };
  const declaration: Declaration = { ...manifest, organisation, site, ...version, issues: judged.issues.map(({ issue }) => issue) };
  const live = judged.issues.filter(({ ended }) => !ended).length;
  if (!isStored(declaration, live, stored)) return declare(declaration, stored, now, to);
  const { updates, amounts } = describe(facts, judged, site, matches);
  return writeStatus(facts, updates, { organisation, ...amounts }, to, signal, wakeAfter(judged, now));
}

/** MongoDB does not answer. A resource for which there is nothing to do keeps its status, so that an outage causes few writes. */
async function outage(facts: KnownIssuesFacts, to: KnownIssuesWrites, signal: AbortSignal): Promise<Next> {
  const { resource } = facts;
  const isCurrent = resource?.status?.observedGeneration === resource?.metadata.generation;
  if (resource === null || isCurrent || resource.metadata.deletionTimestamp !== undefined) return { requeueAfterMs: STORE_RETRY_MS };
  const { observedGeneration: _, conditions: __, ...last } = resource.status ?? {};
  return writeStatus(facts, storeUnavailable(), last, to, signal, STORE_RETRY_MS);
}

async function declare(declaration: Declaration, stored: StoredDeclaration | null, now: Date, to: KnownIssuesWrites): Promise<Next> {
  if (!(await to.context.stores.knownIssues.declare(declaration, stored?.revision ?? null, now)))
    return { requeueAfterMs: CONFLICT_RETRY_MS };
  await audit(declaration, changesOf(stored, declaration), to);
  if (stored !== null) to.onFreed(declaration);
  return 'again';
}

async function withdraw(manifest: ManifestRef, stored: StoredDeclaration, to: KnownIssuesWrites): Promise<Next> {
  if (!(await to.context.stores.knownIssues.withdraw(manifest, stored.revision))) return { requeueAfterMs: CONFLICT_RETRY_MS };
  await audit(stored, { removed: stored.issues.length }, to);
  to.onFreed(stored);
  return 'again';
}

function isStored(declaration: Declaration, live: number, stored: StoredDeclaration | null): boolean {
  if (stored === null) return false;
  const { revision: _, live: storedLive, ...rest } = stored;
  return storedLive === live && isDeepStrictEqual(rest, declaration);
}

function changesOf(stored: StoredDeclaration | null, { site, issues }: Declaration): Record<string, number> {
  const before = new Map(stored?.site === site ? stored.issues.map((issue) => [claimKey(issue), issue]) : []);
  const kept = issues.filter((issue) => before.has(claimKey(issue)));
  return {
    added: issues.length - kept.length,
    changed: kept.filter((issue) => !isDeepStrictEqual(before.get(claimKey(issue)), issue)).length,
    removed: (stored?.issues.length ?? 0) - kept.length,
  };
}

/** Records how many known issues were changed. A failure is only logged, because the change was made. */
async function audit(
  declared: Declaration,
  changes: Record<string, number>,
  { context: { stores, logger } }: KnownIssuesWrites,
): Promise<void> {
  const { organisation, site, namespace, name } = declared;
  const counts = Object.entries(changes).filter(([, count]) => count > 0);
  if (counts.length === 0) return;
  const subject = `${site} ${namespace}/${name}: ${counts.map(([what, count]) => `${count} ${what}`).join(', ')}`;
  logger.info({ organisation, subject }, 'known issues changed');
  const action = 'known-issue.declare';
  await stores.organisations.record({ organisation, actor: MANIFEST_ACTOR, action, subject }).catch((error: unknown) => {
    logger.error({ organisation, action, subject, err: error }, 'audit entry lost');
  });
}

/** The conditions and numbers of known issues that are stored. */
function describe(
  { manifest, resource, now }: KnownIssuesFacts,
  { issues, problems }: Judged,
  site: string,
  matches: SiteMatches | null,
): { updates: ConditionUpdate[]; amounts: KnownIssuesStatus } {
  const sorted = issues.toSorted((a, b) => a.issue.expiresAt.getTime() - b.issue.expiresAt.getTime());
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

/** When the clock alone changes the status: one ends, or will end soon; or others may have given up what the manifest wants. */
function wakeAfter({ issues, problems, changesAt }: Judged, now: Date): number | undefined {
  const ends = issues.map(({ issue }) => issue.expiresAt.getTime());
  const times = [...ends, ...ends.map((end) => end - ENDING_DAYS * DAY_MS), ...changesAt].filter((time) => time > now.getTime());
  const waits = times.map((time) => time - now.getTime());
  if (problems.some(({ reason }) => reason !== 'Invalid')) waits.push(TAKEN_RETRY_MS);
  return waits.length === 0 ? undefined : Math.min(...waits);
}

/** Writes the status if it has changed, and an Event for each known issue that is not in effect or ends, unless the status says so already. */
async function writeStatus(
  { resource, now }: KnownIssuesFacts,
  updates: readonly ConditionUpdate[],
  amounts: KnownIssuesStatus,
  { client, context: { recorder } }: KnownIssuesWrites,
  signal: AbortSignal,
  requeueAfterMs?: number,
): Promise<Next> {
  const { status = {}, metadata } = resource!;
  const conditions = withConditions(resource!, updates, now);
  const patch = mergePatch<KnownIssuesStatus>(status, { ...amounts, observedGeneration: metadata.generation, conditions });
  if (patch !== null) await client.patchStatus(resource!, patch, signal);
  for (const { type, status: holds, reason, message } of patch === null ? [] : updates) {
    const isWarning = (type === 'Stalled' || type === 'Ending') && holds === 'True';
    if (isWarning && conditionOf(status.conditions, type)?.message !== message) recorder.event(resource!, 'Warning', reason, message);
  }
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

interface JudgedIssue {
  label: string;
  issue: DeclaredIssue;
  ended: boolean;
}

interface Judged {
  issues: JudgedIssue[];
  problems: Problem[];
  /** When the judgement changes by the clock alone: an end that is too far ahead comes near, or what another one has ends. */
  changesAt: number[];
}

/** Which known issues are in effect. One that has ended gives way to one about the same that ends later, wherever it is in the list. */
function judge({ issues: declared }: KnownIssuesSpec, { holders, free }: OccupiedSite, now: Date): Judged {
  const issues = new Map<string, JudgedIssue>();
  const problems: Problem[] = [];
  const changesAt: number[] = [];
  const seen = new Set<string>();
  let live = 0;
  for (const entry of declared) {
    const { name: _, expiresAt: end, ...fields } = entry;
    const label = labelOf(entry);
    const refuse = (reason: Problem['reason'], why: string): void => void problems.push({ reason, text: `${label} ${why}` });
    const expiresAt = readDateTime(end);
    if (targetMistake(entry) !== null || expiresAt === null) {
      refuse('Invalid', 'has no valid target or end');
      continue;
    }
    const key = claimKey(entry);
    if (expiresAt <= now) {
      const other = issues.get(key);
      if (other === undefined || other.issue.expiresAt < expiresAt)
        issues.set(key, { label, issue: { ...fields, expiresAt }, ended: true });
      continue;
    }
    const holder = holders.get(key);
    if (seen.has(key)) refuse('Invalid', SAME_TARGET);
    else if (endMistake(expiresAt, now) !== null) {
      changesAt.push(expiresAt.getTime() - KNOWN_ISSUE_MAX_DAYS * DAY_MS);
      refuse('Invalid', `ends more than ${KNOWN_ISSUE_MAX_DAYS} days ahead`);
    } else if (holder !== undefined) {
      changesAt.push(holder.expiresAt.getTime());
      refuse('IssueTaken', holderText(holder));
    } else if (live >= free) refuse('TooManyIssues', `exceeds the ${KNOWN_ISSUES_MAX} known issues that the site can have`);
    else {
      issues.set(key, { label, issue: { ...fields, expiresAt }, ended: false });
      live += 1;
    }
    seen.add(key);
  }
  return { issues: [...issues.values()], problems, changesAt };
}

const holderText = ({ id, manifest }: NonNullable<ReturnType<OccupiedSite['holders']['get']>>): string =>
  manifest === null ? `is accepted already over REST (${id})` : `is accepted already by KnownIssues ${manifest.namespace}/${manifest.name}`;
