/** The known issues of organisations, and those that were chosen for each scan. */
import { randomInt, randomUUID } from 'node:crypto';
import type { Db, Filter } from 'mongodb';
import { chooseKnownIssues, KNOWN_ISSUES_MAX, type ChosenKnownIssues, type KnownIssue } from '../../core/scan/known-issues.ts';
import { retryRace } from '../mongo-retry.ts';

/** A known issue, as people manage it. */
export interface KnownIssueRow extends Omit<KnownIssue, 'expiresAt'> {
  organisation: string;
  /** The host of the site, as `siteOf` returns it. */
  site: string;
  expiresAt: Date;
  /** As the audit log names actors. */
  createdBy: string;
  createdAt: Date;
}

/** What can be changed. */
export type KnownIssueChange = Partial<Pick<KnownIssueRow, 'reason' | 'owner' | 'expiresAt'>>;

/** A part of the known issues of an organisation, newest first. */
export interface KnownIssuePage {
  site?: string;
  /** Only those that end at this time or before. */
  endsBefore?: Date;
  /** Only those that end after this time. */
  endsAfter?: Date;
  /** Only those after this one in the list. */
  after?: { at: Date; id: string } | null;
  limit: number;
}

export type AddedKnownIssue = { ok: true; issue: KnownIssueRow } | { ok: false; reason: 'too_many_known_issues' };

export interface KnownIssues {
  /** Those that have ended count too, until they are removed. @param id a repeated call with the same one adds nothing. Default: random */
  add(issue: Omit<KnownIssueRow, 'id'>, id?: string): Promise<AddedKnownIssue>;
  find(organisation: string, id: string): Promise<KnownIssueRow | null>;
  list(organisation: string, page: KnownIssuePage): Promise<KnownIssueRow[]>;
  /** Returns the changed one; null if there is none. */
  change(organisation: string, id: string, change: KnownIssueChange): Promise<KnownIssueRow | null>;
  /** Returns the removed one; null if there is none. */
  remove(organisation: string, id: string): Promise<KnownIssueRow | null>;
  /**
   * Chooses the known issues of a scan, once: further calls return the first choice.
   * @returns undefined if there are none
   */
  choose(scanId: string, organisation: string, sites: readonly string[], now: Date): Promise<ChosenKnownIssues | undefined>;
  /** Returns what was chosen; undefined if nothing was, or none exist. */
  chosenFor(scanId: string): Promise<ChosenKnownIssues | undefined>;
}

/** `slot` is the place of the site that it takes. */
type KnownIssueDocument = Omit<KnownIssueRow, 'id'> & { _id: string; slot: number };
/** The server removes it a while after the longest scan. */
type ChosenDocument = { _id: string; chosen: ChosenKnownIssues; expiresAt: Date };

const CHOSEN_KEPT_MS = 30 * 86_400_000;

const rowOf = ({ _id: id, slot: _, ...row }: KnownIssueDocument): KnownIssueRow => ({ id, ...row });

function chosenOf({ id, fingerprint, rule, selector, reason, owner, expiresAt }: KnownIssueRow): KnownIssue {
  const target = fingerprint === undefined ? { rule: rule!, selector: selector! } : { fingerprint };
  return { id, ...target, reason, owner, expiresAt: expiresAt.toISOString() };
}

const unlessEmpty = (chosen: ChosenKnownIssues | undefined): ChosenKnownIssues | undefined =>
  chosen === undefined || chosen.issues.length + chosen.leftOut === 0 ? undefined : chosen;

export function createKnownIssues(db: Db): KnownIssues {
  const issues = db.collection<KnownIssueDocument>('knownIssues');
  const choices = db.collection<ChosenDocument>('chosenKnownIssues');

  /** A place at random, so that concurrent requests rarely choose the same one; null if all are taken. */
  async function freeSlot({ organisation, site }: Pick<KnownIssueRow, 'organisation' | 'site'>): Promise<number | null> {
    const taken = new Set((await issues.find({ organisation, site }, { projection: { slot: 1 } }).toArray()).map(({ slot }) => slot));
    const free = Array.from({ length: KNOWN_ISSUES_MAX }, (_, slot) => slot).filter((slot) => !taken.has(slot));
    return free.length === 0 ? null : free[randomInt(free.length)]!;
  }

  return {
    async add(issue, _id = randomUUID()) {
      return retryRace(async () => {
        // Before a slot is looked for: the call that added it may have taken the last one.
        const stored = await issues.findOne({ _id, organisation: issue.organisation });
        if (stored !== null) return { ok: true, issue: rowOf(stored) };
        const slot = await freeSlot(issue);
        if (slot === null) return { ok: false, reason: 'too_many_known_issues' };
        await issues.insertOne({ _id, slot, ...issue });
        return { ok: true, issue: { id: _id, ...issue } };
      });
    },

    async find(organisation, id) {
      const found = await issues.findOne({ _id: id, organisation });
      return found && rowOf(found);
    },

    async list(organisation, { site, endsBefore, endsAfter, after, limit }) {
      const filter: Filter<KnownIssueDocument> = {
        organisation,
        ...(site !== undefined && { site }),
        ...(endsBefore !== undefined || endsAfter !== undefined
          ? { expiresAt: { ...(endsBefore && { $lte: endsBefore }), ...(endsAfter && { $gt: endsAfter }) } }
          : {}),
        ...(after && { $or: [{ createdAt: { $lt: after.at } }, { createdAt: after.at, _id: { $lt: after.id } }] }),
      };
      return (await issues.find(filter).sort({ createdAt: -1, _id: -1 }).limit(limit).toArray()).map(rowOf);
    },

    async change(organisation, id, change) {
      const changed = await retryRace(() =>
        issues.findOneAndUpdate({ _id: id, organisation }, { $set: change }, { returnDocument: 'after' }),
      );
      return changed && rowOf(changed);
    },

    async remove(organisation, id) {
      const removed = await issues.findOneAndDelete({ _id: id, organisation });
      return removed && rowOf(removed);
    },

    async choose(scanId, organisation, sites, now) {
      const found = await issues
        .find({ organisation, site: { $in: [...sites] }, expiresAt: { $gt: now } })
        .sort({ createdAt: 1, _id: 1 })
        .toArray();
      const first = { chosen: chooseKnownIssues(found.map(rowOf).map(chosenOf), now), expiresAt: new Date(now.getTime() + CHOSEN_KEPT_MS) };
      const stored = await retryRace(() =>
        choices.findOneAndUpdate({ _id: scanId }, { $setOnInsert: first }, { upsert: true, returnDocument: 'after' }),
      );
      return unlessEmpty(stored!.chosen);
    },

    async chosenFor(scanId) {
      return unlessEmpty((await choices.findOne({ _id: scanId }))?.chosen);
    },
  };
}
