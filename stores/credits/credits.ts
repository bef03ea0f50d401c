/**
 * Credits, exact under races, crashes and repeats. An organisation's account is one document
 * `{granted, available, spent, held: {scanId: n}, ops}` with `available + Σheld + spent = granted`. Every operation is one
 * guarded atomic update, recorded by its id and copied to an append-only ledger. There are no transactions, so MongoDB
 * needs no replica set.
 *
 * The accounts of public scans and of test keys need no credits (`isFree`): their reserves succeed up to `maxLive`, and their settles
 * charge nothing.
 */
import type { Collection, Db, Document } from 'mongodb';
import type { Logger } from '../../platform/logger.ts';
import { isFree } from '../../core/scan/counts.ts';
import {
  type Account,
  checkPages,
  checkScanId,
  emptyAccount,
  FARTHEST_DEADLINE_MS,
  freeReserveStep,
  freeSettleStep,
  grantStep,
  reserveStep,
  settleStep,
} from './credit-steps.ts';
import { createLedger } from './ledger.ts';
import { retryRace } from '../mongo-retry.ts';

export type { LedgerEntry } from './ledger.ts';

export interface Balance {
  /** Credits that can be reserved now. */
  balance: number;
  granted: number;
  held: number;
  spent: number;
}

/** The account of an organisation. */
export interface AccountSummary extends Balance {
  /** The number of scans that hold credits. */
  liveScans: number;
  /** The number of operations ever made. */
  sequence: number;
}

/** A reservation must arrive within this time. It bounds its deadline. */
export const RESERVE_WITHIN_MS = 30_000;

export interface ReservationRequest {
  /** Or the account of its test keys (`creditAccountOf`). */
  organisation: string;
  scanId: string;
  pages: number;
  partial: boolean;
  deadline: Date;
  maxLive?: number;
  fresh?: boolean;
}

export type Reservation =
  | { ok: true; reserved: number; balance: number }
  | { ok: false; reason: 'insufficient_credits'; balance: number }
  /** `maxLive` scans of the organisation hold credits already. */
  | { ok: false; reason: 'too_many_live' }
  /** By the store's clock the deadline has passed, or the scan's hold is already settled. The scan must not run. */
  | { ok: false; reason: 'deadline_passed' };

export type Settlement =
  | { ok: true; spent: number; released: number }
  /** An earlier call settled the hold and spent this many pages. */
  | { ok: false; reason: 'already_settled'; spent: number }
  /** The scan never held credits. */
  | { ok: false; reason: 'no_hold' };

export interface Hold {
  organisation: string;
  scanId: string;
  pages: number;
}

/** Credits that one call moved. A repeated call moves none. */
export type CreditMove = { operation: 'reserve'; pages: number } | { operation: 'settle'; pages: number; released: number };

export interface CreditsOptions {
  /** How long operations are collected before they are copied to the ledger in the background. */
  relayDelayMs?: number;
  logger?: Logger;
  /** Called for every reserve and settle that moved credits. */
  onMove?: (move: CreditMove) => void;
}

/** Credits in MongoDB: `accounts` is authoritative, `ledger` is its append-only copy. */
export function createCredits(db: Db, { relayDelayMs = 1_000, logger, onMove }: CreditsOptions = {}) {
  const accounts = db.collection<Account>('accounts');
  const ledger = createLedger(db, { delayMs: relayDelayMs, logger });

  /** Runs one guarded update. @returns the account after it, without its long fields; null if there is no such account */
  async function step(organisation: string, pipeline: Document[]): Promise<Account | null> {
    const projection = { ops: 0, held: 0, grants: 0 };
    return retryRace(() => accounts.findOneAndUpdate({ _id: organisation }, pipeline, { returnDocument: 'after', projection }));
  }

  async function open(organisation: string): Promise<void> {
    await retryRace(() => accounts.updateOne({ _id: organisation }, { $setOnInsert: emptyAccount() }, { upsert: true }));
  }

  async function reserveFree({ organisation, scanId, pages, maxLive = Number.MAX_SAFE_INTEGER }: ReservationRequest): Promise<Reservation> {
    const account = await retryRace(() =>
      accounts.findOneAndUpdate({ _id: organisation }, freeReserveStep(scanId, pages, maxLive), {
        upsert: true,
        returnDocument: 'after',
        projection: { answer: 1 },
      }),
    );
    const { outcome, pages: reserved } = account!.answer!;
    return outcome === 'too_many' ? { ok: false, reason: 'too_many_live' } : { ok: true, reserved, balance: 0 };
  }

  async function settleFree(account: string, scanId: string, pages: number): Promise<Settlement> {
    const answer = (await step(account, freeSettleStep(scanId, pages)))?.answer;
    if (answer?.outcome === 'done') return { ok: true, spent: answer.pages, released: answer.released ?? 0 };
    // Without a ledger an earlier settle is not remembered, and there is nothing to charge.
    return { ok: false, reason: 'already_settled', spent: pages };
  }

  return {
    ...createReads(accounts),
    /** Opens an empty account for an organisation. Idempotent. */
    open,
    /** Copies operations to the ledger, of one organisation or of all. @returns the number of copied operations */
    relay: ledger.relay,
    /** Ledger entries, newest first, including operations that were not copied yet. */
    ledger: ledger.entries,

    /** Adds credits once per grant id. @returns true if this call added them */
    async grant(organisation: string, grantId: string, pages: number): Promise<boolean> {
      checkPages(pages, 1);
      await open(organisation);
      const account = await step(organisation, grantStep(grantId, pages));
      ledger.relaySoon(organisation);
      return account?.answer?.outcome === 'done';
    },

    /**
     * Holds credits for a scan. A repeated call returns the existing hold. An organisation without an account has no credits.
     * @param partial true: hold as many as are available, at least one; false: all or nothing
     * @param deadline compared with the store's clock, so that a stalled request cannot hold credits for an abandoned scan
     * @param maxLive the maximum number of scans of the organisation that hold credits, this one included; exact under races
     * @param fresh the scan id is new and unknown to others, so that the ledger need not be searched for a settle
     */
    async reserve(request: ReservationRequest): Promise<Reservation> {
      const { organisation, scanId, pages, partial, deadline, maxLive = Number.MAX_SAFE_INTEGER, fresh = false } = request;
      checkScanId(scanId);
      checkPages(pages, 1);
      if (isFree(organisation)) return reserveFree(request);
      const latest = new Date(Math.min(deadline.getTime(), Date.now() + FARTHEST_DEADLINE_MS));
      // Old settles are only in the ledger. The account remembers a settle that follows this read until after the deadline.
      if (!fresh && (await ledger.settledPages(organisation, scanId)) !== null) return { ok: false, reason: 'deadline_passed' };
      const account = await step(organisation, reserveStep(scanId, pages, { partial, deadline: latest, maxHolds: maxLive }));
      if (account === null) return { ok: false, reason: 'insufficient_credits', balance: 0 };
      const { outcome, pages: reserved } = account.answer!;
      if (outcome === 'late' || outcome === 'settled') return { ok: false, reason: 'deadline_passed' };
      if (outcome === 'too_many') return { ok: false, reason: 'too_many_live' };
      if (outcome === 'insufficient') return { ok: false, reason: 'insufficient_credits', balance: account.available };
      if (outcome === 'done') onMove?.({ operation: 'reserve', pages: reserved });
      ledger.relaySoon(organisation);
      return { ok: true, reserved, balance: account.available };
    },

    /** Ends a hold: spends `pages` (at most the held ones) and releases the rest. Moves nothing if there is no hold. */
    async settle(organisation: string, scanId: string, pages: number): Promise<Settlement> {
      checkScanId(scanId);
      checkPages(pages, 0);
      if (isFree(organisation)) return settleFree(organisation, scanId, pages);
      const account = await step(organisation, settleStep(scanId, pages));
      const { outcome = 'unknown', pages: spent = 0, released = 0 } = account?.answer ?? {};
      if (outcome === 'settled') return { ok: false, reason: 'already_settled', spent };
      if (outcome !== 'done') {
        // The account forgets a settle after some minutes; the ledger never does.
        const earlier = await ledger.settledPages(organisation, scanId);
        return earlier === null ? { ok: false, reason: 'no_hold' } : { ok: false, reason: 'already_settled', spent: earlier };
      }
      onMove?.({ operation: 'settle', pages: spent, released });
      ledger.relaySoon(organisation);
      return { ok: true, spent, released };
    },
  };
}
export type Credits = ReturnType<typeof createCredits>;

function createReads(accounts: Collection<Account>) {
  /** Reads accounts in one batch, so that the number of commands does not grow with that of organisations. */
  async function several(organisations: readonly string[], projection: Document): Promise<Account[]> {
    if (organisations.length === 0) return [];
    return accounts.find({ _id: { $in: [...organisations] } }, { projection, batchSize: organisations.length + 1 }).toArray();
  }

  return {
    async balance(organisation: string): Promise<Balance> {
      const account = await accounts.findOne({ _id: organisation }, { projection: { ops: 0, grants: 0 } });
      const { balance, granted, held, spent } = summaryOf(account ?? emptyAccount());
      return { balance, granted, held, spent };
    },

    /** Returns the accounts of several organisations that have one, by organisation, in one command. */
    async accounts(organisations: readonly string[]): Promise<Map<string, AccountSummary>> {
      const found = await several(organisations, { ops: 0, grants: 0 });
      return new Map(found.map((account) => [account._id, summaryOf(account)]));
    },

    /** Returns the ids of all grants ever made to each of the organisations, in one command. */
    async grantIds(organisations: readonly string[]): Promise<Map<string, Set<string>>> {
      const found = await several(organisations, { grants: 1 });
      return new Map(found.map(({ _id, grants }) => [_id, new Set(grants)]));
    },

    /** Scans of an organisation that hold credits. */
    async holds(organisation: string): Promise<{ scanId: string; pages: number }[]> {
      const account = await accounts.findOne({ _id: organisation }, { projection: { held: 1 } });
      return Object.entries(account?.held ?? {}).map(([scanId, pages]) => ({ scanId, pages }));
    },

    /** Scans of all organisations that hold credits, in one query, for the sweeper. */
    async allHolds(): Promise<Hold[]> {
      const holding = await accounts.find({ held: { $ne: {} } }, { projection: { held: 1 } }).toArray();
      return holding.flatMap(({ _id: organisation, held }) =>
        Object.entries(held).map(([scanId, pages]) => ({ organisation, scanId, pages })),
      );
    },
  };
}

function summaryOf({ granted, available, spent, held, sequence = 0 }: Omit<Account, '_id'>): AccountSummary {
  const holds = Object.values(held);
  return { balance: available, granted, spent, held: holds.reduce((sum, pages) => sum + pages, 0), liveScans: holds.length, sequence };
}
