/** The known issues of organisations, and those that were chosen for each scan. */
import { randomUUID } from 'node:crypto';
import type { Db, Filter } from 'mongodb';
import {
  chooseKnownIssues,
  claimKey,
  KNOWN_ISSUES_MAX,
  type ChosenKnownIssues,
  type KnownIssue,
  type KnownIssueExample,
  type KnownIssueTarget,
} from '../../core/scan/known-issues.ts';
import { retryRace } from '../mongo-retry.ts';
import { freeSlots } from '../slots.ts';
import {
  documentOf,
  rowsOf,
  targetClaim,
  type IssueDocument,
  type KnownIssueDocument,
  type KnownIssueRow,
  type ManifestDocument,
} from './documents.ts';
import { createManifestKnownIssues } from './manifest-known-issues.ts';

export type { KnownIssueRow } from './documents.ts';

export type KnownIssueChange = Partial<Pick<KnownIssueRow, 'reason' | 'owner' | 'expiresAt'>>;

/** What can be changed: the version of a known issue. */
export const changeableOf = ({ reason, owner, expiresAt }: KnownIssueRow): Required<KnownIssueChange> => ({ reason, owner, expiresAt });

/** A part of the known issues of an organisation, newest first. */
export interface KnownIssuePage {
  site?: string;
  /** Only those that end at this time or before. */
  endsBefore?: Date;
  /** Only those that end after this time. */
  endsAfter?: Date;
  /** Only those that matched nothing in the newest scan of their site. */
  unmatched?: boolean;
  /** Only those after this one in the list. */
  after?: { at: Date; id: string } | null;
  limit: number;
}

export type AddedKnownIssue =
  | { ok: true; issue: KnownIssueRow }
  | { ok: false; reason: 'too_many_known_issues' }
  /** The site has one that is about the same and has not ended. */
  | { ok: false; reason: 'known_issue_exists'; existing: KnownIssueRow };

/** The result of a change or removal, with what was changed or removed. */
export type ChangedKnownIssue =
  | { ok: true; issue: KnownIssueRow }
  /** `precondition_failed`: it is not as it was read any more. */
  | { ok: false; reason: 'known_issue_not_found' | 'precondition_failed' }
  /** Only its manifest changes it. */
  | { ok: false; reason: 'known_issue_managed_by_manifest'; issue: KnownIssueRow };

/** What the newest scan of a site says about its known issues. */
export interface SiteMatches {
  scanId: string;
  /** When they were chosen for the scan. */
  at: Date;
  /** Of those that a scan matched, by ID. Absent: unknown. */
  examples?: Readonly<Record<string, KnownIssueExample>>;
  /** The IDs of those that matched no violation. */
  unmatched: string[];
}

/** The server removes it a year after the scan. */
type MatchesDocument = SiteMatches & { _id: string; expiresAt: Date };
const matchesId = (organisation: string, site: string): string => `${organisation}/${site}`;
/** The server removes it a while after the longest scan. */
type ChosenDocument = { _id: string; chosen: ChosenKnownIssues; expiresAt: Date };

const CHOSEN_KEPT_MS = 30 * 86_400_000;
const MATCHES_KEPT_MS = 366 * 86_400_000;

function chosenOf({ id, kind, fingerprint, rule, selector, reason, owner, expiresAt }: KnownIssueRow): KnownIssue {
  const target = fingerprint === undefined ? { rule: rule!, selector: selector! } : { fingerprint };
  return { id, ...(kind !== undefined && { kind }), ...target, reason, owner, expiresAt: expiresAt.toISOString() };
}

const unlessEmpty = (chosen: ChosenKnownIssues | undefined): ChosenKnownIssues | undefined =>
  chosen === undefined || chosen.issues.length + chosen.leftOut === 0 ? undefined : chosen;

/** Those after a position in the list. One that is in the middle of a manifest's is in the first document. */
const isAfter = ({ createdAt, id }: KnownIssueRow, after: NonNullable<KnownIssuePage['after']>): boolean =>
  createdAt < after.at || (createdAt.getTime() === after.at.getTime() && id < after.id);

export function createKnownIssues(db: Db) {
  const issues = db.collection<KnownIssueDocument>('knownIssues');
  const single = db.collection<IssueDocument>('knownIssues');
  const choices = db.collection<ChosenDocument>('chosenKnownIssues');
  const matches = db.collection<MatchesDocument>('knownIssueMatches');

  /** The one that claims what a new one is about. One over REST that has ended is removed. */
  async function holderOf(issue: Omit<KnownIssueRow, 'id' | 'manifest'>, target: string): Promise<KnownIssueRow | null> {
    const holder = await issues.findOne({ targets: target });
    if (holder === null) return null;
    if (holder.manifest === undefined && holder.expiresAt <= issue.createdAt) {
      await single.deleteOne({ _id: holder._id, expiresAt: { $lte: issue.createdAt } });
      return null;
    }
    return rowsOf(holder).find((row) => targetClaim(row.organisation, row.site, row) === target) ?? null;
  }

  async function matchesIn(filter: Filter<MatchesDocument>): Promise<Map<string, SiteMatches>> {
    const found = await matches.find(filter).toArray();
    return new Map(found.map(({ _id, expiresAt: _, ...said }) => [_id.slice(_id.indexOf('/') + 1), said]));
  }
  const matchesOfSites = (organisation: string, sites: readonly string[]) =>
    matchesIn({ _id: { $in: sites.map((site) => matchesId(organisation, site)) } });
  /** The IDs of those that matched nothing in the newest scan of their site, by site. */
  async function unmatchedOf(organisation: string, site: string | undefined): Promise<Map<string, Set<string>>> {
    // The sites of an organisation: '0' follows '/'.
    const all = { _id: { $gt: `${organisation}/`, $lt: `${organisation}0` }, 'unmatched.0': { $exists: true } };
    const said = await (site === undefined ? matchesIn(all) : matchesOfSites(organisation, [site]));
    return new Map([...said].map(([host, { unmatched }]) => [host, new Set(unmatched)]));
  }

  const byId = (organisation: string, id: string): Filter<KnownIssueDocument> => ({ _id: { $in: [id, documentOf(id)] }, organisation });
  async function find(organisation: string, id: string): Promise<KnownIssueRow | null> {
    const found = await issues.find(byId(organisation, id)).toArray();
    return found.flatMap(rowsOf).find((row) => row.id === id) ?? null;
  }
  async function unchanged(organisation: string, id: string): Promise<ChangedKnownIssue> {
    const issue = await find(organisation, id);
    if (issue?.manifest) return { ok: false, reason: 'known_issue_managed_by_manifest', issue };
    return { ok: false, reason: issue === null ? 'known_issue_not_found' : 'precondition_failed' };
  }
  const own = (organisation: string, id: string): Filter<IssueDocument> => ({ _id: id, organisation, manifest: { $exists: false } });

  return {
    ...createManifestKnownIssues(db.collection<ManifestDocument>('knownIssues'), single),

    /**
     * Adds one. It takes the place of an ended one over REST that is about the same. Ended ones count too, until they are removed.
     * @param id a repeated call with the same one adds nothing. Default: random
     */
    async add(issue: Omit<KnownIssueRow, 'id' | 'manifest'>, _id: string = randomUUID()): Promise<AddedKnownIssue> {
      const target = targetClaim(issue.organisation, issue.site, issue);
      return retryRace(async (): Promise<AddedKnownIssue> => {
        // Before a slot is looked for: the call that added it may have taken the last one.
        const stored = await single.findOne(own(issue.organisation, _id));
        if (stored !== null) return { ok: true, issue: rowsOf(stored)[0]! };
        const existing = await holderOf(issue, target);
        if (existing !== null) return { ok: false, reason: 'known_issue_exists', existing };
        const { organisation, site } = issue;
        const found = await issues.find({ organisation, site }, { projection: { slots: 1 } }).toArray();
        const taken = found.flatMap(({ slots = [] }) => slots);
        const [slot] = freeSlots(`${organisation}/${site}`, KNOWN_ISSUES_MAX, taken);
        if (slot === undefined) return { ok: false, reason: 'too_many_known_issues' };
        await single.insertOne({ _id, ...issue, slots: [slot], targets: [target] });
        return { ok: true, issue: { id: _id, ...issue, manifest: null } };
      });
    },

    find,

    async list(organisation: string, { site, endsBefore, endsAfter, unmatched, after, limit }: KnownIssuePage): Promise<KnownIssueRow[]> {
      const wanted = unmatched ? await unmatchedOf(organisation, site) : null;
      const ends = endsBefore || endsAfter ? { ...(endsBefore && { $lte: endsBefore }), ...(endsAfter && { $gt: endsAfter }) } : null;
      const filter: Filter<KnownIssueDocument> = {
        organisation,
        ...(site !== undefined && { site }),
        $and: [
          wanted === null ? {} : { site: { $in: [...wanted.keys()] } },
          ends === null ? {} : { $or: [{ expiresAt: ends }, { 'issues.expiresAt': ends }] },
          after ? { $or: [{ createdAt: { $lt: after.at } }, { createdAt: after.at, _id: { $lte: after.id } }] } : {},
        ],
      };
      const listed: KnownIssueRow[] = [];
      for await (const document of issues.find(filter).sort({ createdAt: -1, _id: -1 })) {
        const rows = rowsOf(document)
          .filter((row) => !after || isAfter(row, after))
          .filter((row) => wanted === null || wanted.get(row.site)?.has(row.id));
        listed.push(...rows.filter(({ expiresAt }) => !(endsBefore && expiresAt > endsBefore) && !(endsAfter && expiresAt <= endsAfter)));
        if (listed.length >= limit) break;
      }
      return listed.slice(0, limit);
    },

    /** Those of a site that are about one of these and have not ended, by `claimKey`. */
    async about(organisation: string, site: string, targets: readonly KnownIssueTarget[], now: Date): Promise<Map<string, KnownIssueRow>> {
      const claims = targets.map((target) => targetClaim(organisation, site, target));
      const found = claims.length === 0 ? [] : await issues.find({ targets: { $in: claims } }).toArray();
      const rows = found.flatMap(rowsOf).filter(({ expiresAt }) => expiresAt > now);
      return new Map(rows.map((row) => [claimKey(row), row]));
    },

    /** @param read what was read, if only that may be changed */
    async change(organisation: string, id: string, change: KnownIssueChange, read?: KnownIssueRow): Promise<ChangedKnownIssue> {
      const filter = { ...own(organisation, id), ...(read && changeableOf(read)) };
      const changed = await retryRace(() => single.findOneAndUpdate(filter, { $set: change }, { returnDocument: 'after' }));
      return changed === null ? unchanged(organisation, id) : { ok: true, issue: rowsOf(changed)[0]! };
    },

    async remove(organisation: string, id: string): Promise<ChangedKnownIssue> {
      const removed = await single.findOneAndDelete(own(organisation, id));
      return removed === null ? unchanged(organisation, id) : { ok: true, issue: rowsOf(removed)[0]! };
    },

    /**
     * Chooses the known issues of a scan, once: further calls return the first choice.
     * @returns undefined if there are none
     */
    async choose(scanId: string, organisation: string, sites: readonly string[], now: Date): Promise<ChosenKnownIssues | undefined> {
      const found = await issues.find({ organisation, site: { $in: [...sites] } }).toArray();
      const rows = found.flatMap(rowsOf).toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
      const first = { chosen: chooseKnownIssues(rows.map(chosenOf), now), expiresAt: new Date(now.getTime() + CHOSEN_KEPT_MS) };
      const stored = await retryRace(() =>
        choices.findOneAndUpdate({ _id: scanId }, { $setOnInsert: first }, { upsert: true, returnDocument: 'after' }),
      );
      return unlessEmpty(stored!.chosen);
    },

    /** Deletes what was chosen for a scan that is deleted. */
    async removeChosen(scanId: string) {
      await choices.deleteOne({ _id: scanId });
    },

    /** Returns what was chosen; undefined if nothing was, or none exist. */
    async chosenFor(scanId: string): Promise<ChosenKnownIssues | undefined> {
      return unlessEmpty((await choices.findOne({ _id: scanId }))?.chosen);
    },

    /** Records what a scan of a site says, unless a newer one has said it. What matched nothing keeps its earlier example. */
    async recordMatches(organisation: string, site: string, { scanId, at, unmatched, examples = {} }: SiteMatches) {
      const _id = matchesId(organisation, site);
      const said = { scanId, at, unmatched, expiresAt: new Date(at.getTime() + MATCHES_KEPT_MS) };
      await retryRace(async () => {
        const before = await matches.findOne({ _id });
        if (before !== null && before.at > at) return;
        const kept = Object.entries(before?.examples ?? {}).filter(([id]) => unmatched.includes(id));
        const $set = { ...said, examples: { ...Object.fromEntries(kept), ...examples } };
        await matches.updateOne({ _id, at: { $lte: at } }, { $set }, { upsert: true });
      });
    },

    /** Returns what the newest scan of the site says; null if no scan has said anything for a year. */
    async matchesOf(organisation: string, site: string): Promise<SiteMatches | null> {
      return (await matchesOfSites(organisation, [site])).get(site) ?? null;
    },

    /** The same for several sites of the organisation, in one command, by site. */
    matchesOfSites,
  };
}
export type KnownIssues = ReturnType<typeof createKnownIssues>;
