/**
 * Credits, exact under races, crashes and repeats. The organisation's account is one document
 * `{granted, available, spent, held: {scanId: n}, ops}` with `available + Σheld + spent = granted`; every operation is one
 * guarded atomic update (no transactions, so no replica set is needed), remembered by its id, and relayed to an
 * append-only ledger.
 */
import type { Db, Document } from 'mongodb';
import type { Logger } from '../../platform/logger.ts';
import {
  checkPages,
  checkScanId,
  emptyAccount,
  FARTHEST_DEADLINE_MS,
  grantStep,
  relayedStep,
  reserveStep,
  settleStep,
} from './credit-steps.ts';
import type { Account, Operation } from './credit-steps.ts';
import { isDuplicate, retryRace } from '../mongo-retry.ts';

export interface Balance {
  /** What can be reserved now. */
  balance: number;
  granted: number;
  held: number;
  spent: number;
}

export type Reservation = { ok: true; reserved: number; balance: number } | { ok: false; reason: 'insufficient_credits'; balance: number };

export interface LedgerEntry {
  /** The operation's id: `grant:<id>`, `reserve:<scan>`, `settle:<scan>`. */
  id: string;
  organisation: string;
  operation: 'grant' | 'reserve' | 'settle';
  scanId: string | null;
  /** Pages that moved: granted, held, or spent. */
  pages: number;
  /** For `settle`: pages that were held and given back. */
  released: number;
  at: Date;
}

/** Credits that one call moved: a repeat moves none. */
export type CreditMove = { operation: 'reserve'; pages: number } | { operation: 'settle'; pages: number; released: number };

export interface Credits {
  /** Opens an organisation's account, empty. Idempotent. */
  open(organisation: string): Promise<void>;
  balance(organisation: string): Promise<Balance>;
  /** Adds credits once for each grant id. @returns true if this call added them */
  grant(organisation: string, grantId: string, pages: number): Promise<boolean>;
  /**
   * Holds credits for a scan, once: a repeat answers with what is held already.
   * An organisation without an account has none to reserve.
   * @param partial true: as many as there are, at least one; false: all or nothing
   * @param deadline the reserve is refused by the store's own clock after this moment, so that a stalled request cannot hold credits for a scan that was given up
   * @throws DeadlinePassed when the store's clock is past the deadline, or the scan's hold was settled already: it was given up, and must not run unpaid
   */
  reserve(request: { organisation: string; scanId: string; pages: number; partial: boolean; deadline: Date }): Promise<Reservation>;
  /** Ends a hold, once: `pages` (at most what is held) are spent, the rest is available again. Unknown or settled holds change nothing. @returns true if this call settled it */
  settle(organisation: string, scanId: string, pages: number): Promise<boolean>;
  /** Scans that hold credits, for the sweeper. */
  holds(organisation: string): Promise<{ scanId: string; pages: number }[]>;
  /** Ledger entries, newest first. Relays what is not in the ledger yet. */
  ledger(organisation: string, limit: number): Promise<LedgerEntry[]>;
  /** Copies the operations that are not in the ledger yet, of one organisation or of every one. @returns how many there were */
  relay(organisation?: string): Promise<number>;
}

/** The store's clock is past the deadline of a reservation. */
export class DeadlinePassed extends Error {
  constructor() {
    super('the reservation came too late');
    this.name = 'DeadlinePassed';
  }
}

/** A ledger entry as it is stored, under the organisation and the operation's id: a second copy is a duplicate. */
type LedgerDocument = LedgerEntry & { _id: string };

function toEntry(organisation: string, { id, operation, scanId, pages, released, at }: Operation): LedgerDocument {
  return { _id: `${organisation}/${id}`, id, organisation, operation, scanId, pages, released, at };
}

/**
 * Credits in MongoDB: `accounts` is the truth, `ledger` its append-only copy.
 * @param options.relayDelayMs how long operations are gathered before they are copied to the ledger, in the background
 * @param options.onMove is told of every reserve and settle that moved credits
 */
export function createCredits(
  db: Db,
  { relayDelayMs = 1_000, logger, onMove }: { relayDelayMs?: number; logger?: Logger; onMove?: (move: CreditMove) => void } = {},
): Credits {
  const accounts = db.collection<Account>('accounts');
  const entries = db.collection<LedgerDocument>('ledger');
  const gathering = new Set<string>();

  /** One guarded update; the account as it left it, without what is long. Null if there is no such account. */
  async function step(organisation: string, pipeline: Document[]): Promise<Account | null> {
    const projection = { ops: 0, held: 0, grants: 0 };
    return retryRace(() => accounts.findOneAndUpdate({ _id: organisation }, pipeline, { returnDocument: 'after', projection }));
  }

  async function open(organisation: string): Promise<void> {
    await retryRace(() => accounts.updateOne({ _id: organisation }, { $setOnInsert: emptyAccount() }, { upsert: true }));
  }

  /** Copies an account's operations to the ledger, then marks them. A crash in between only copies them again, as duplicates. */
  async function relayOne(organisation: string): Promise<number> {
    const account = await accounts.findOne({ _id: organisation }, { projection: { ops: 1 } });
    const waiting = account?.ops.filter((op) => !op.relayed) ?? [];
    if (waiting.length === 0) return 0;
    try {
      await entries.insertMany(
        waiting.map((op) => toEntry(organisation, op)),
        { ordered: false },
      );
    } catch (error) {
      if (!onlyDuplicates(error)) throw error;
    }
    await step(organisation, relayedStep(waiting.map((op) => op.id)));
    return waiting.length;
  }

  /** Relays soon, once for all operations until then. What fails here is found by the next operation or the sweep. */
  function relaySoon(organisation: string): void {
    if (gathering.has(organisation)) return;
    gathering.add(organisation);
    setTimeout(() => {
      gathering.delete(organisation);
      relayOne(organisation).catch((error: unknown) =>
        logger?.warn({ organisation, err: error }, 'ledger entries wait for the next relay'),
      );
    }, relayDelayMs).unref();
  }

  async function relay(organisation?: string): Promise<number> {
    if (organisation !== undefined) return relayOne(organisation);
    let relayed = 0;
    for await (const { _id } of accounts.find({ 'ops.relayed': false }, { projection: { _id: 1 } })) relayed += await relayOne(_id);
    return relayed;
  }

  return {
    open,
    relay,

    async balance(organisation) {
      const account = await accounts.findOne({ _id: organisation }, { projection: { ops: 0, grants: 0 } });
      const { granted, available, spent, held } = account ?? emptyAccount();
      return { balance: available, granted, spent, held: Object.values(held).reduce((sum, pages) => sum + pages, 0) };
    },

    async grant(organisation, grantId, pages) {
      checkPages(pages, 1);
      await open(organisation);
      const account = await step(organisation, grantStep(grantId, pages));
      relaySoon(organisation);
      return account?.answer?.outcome === 'done';
    },

    async reserve({ organisation, scanId, pages, partial, deadline }) {
      checkScanId(scanId);
      checkPages(pages, 1);
      const latest = new Date(Math.min(deadline.getTime(), Date.now() + FARTHEST_DEADLINE_MS));
      // What the account has forgotten, the ledger knows. A settle after this look is remembered for longer than the deadline.
      if ((await entries.findOne({ _id: `${organisation}/settle:${scanId}` }, { projection: { _id: 1 } })) !== null)
        throw new DeadlinePassed();
      const account = await step(organisation, reserveStep(scanId, pages, partial, latest));
      if (account === null) return { ok: false, reason: 'insufficient_credits', balance: 0 };
      const { outcome, pages: reserved } = account.answer!;
      if (outcome === 'late' || outcome === 'settled') throw new DeadlinePassed();
      if (outcome === 'insufficient') return { ok: false, reason: 'insufficient_credits', balance: account.available };
      if (outcome === 'done') onMove?.({ operation: 'reserve', pages: reserved });
      relaySoon(organisation);
      return { ok: true, reserved, balance: account.available };
    },

    async settle(organisation, scanId, pages) {
      checkScanId(scanId);
      checkPages(pages, 0);
      const account = await step(organisation, settleStep(scanId, pages));
      if (account?.answer?.outcome !== 'done') return false;
      onMove?.({ operation: 'settle', pages: account.answer.pages, released: account.answer.released ?? 0 });
      relaySoon(organisation);
      return true;
    },

    async holds(organisation) {
      const account = await accounts.findOne({ _id: organisation }, { projection: { held: 1 } });
      return Object.entries(account?.held ?? {}).map(([scanId, pages]) => ({ scanId, pages }));
    },

    async ledger(organisation, limit) {
      await relayOne(organisation);
      const newest = entries
        .find({ organisation }, { projection: { _id: 0 } })
        .sort({ at: -1, operation: -1 })
        .limit(limit);
      return newest.toArray();
    },
  };
}

/** True where an unordered insert failed on nothing but entries that are there already. */
function onlyDuplicates(error: unknown): boolean {
  const failures = (error as { writeErrors?: unknown }).writeErrors;
  const all = Array.isArray(failures) ? failures : failures === undefined ? [] : [failures];
  return isDuplicate(error) && all.every(isDuplicate);
}
