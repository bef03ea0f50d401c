/**
 * The ledger: an append-only copy of every operation on the accounts. An account keeps an operation until it is copied
 * ("relayed"), so that a crash loses no entry.
 */
import type { Db } from 'mongodb';
import type { Logger } from '../../platform/logger.ts';
import { isDuplicate, retryRace } from '../mongo-retry.ts';
import { relayedStep, type Account, type Operation } from './credit-steps.ts';

export interface LedgerEntry {
  /** The operation's id: `grant:<id>`, `reserve:<scan>`, `settle:<scan>`. */
  id: string;
  organisation: string;
  operation: 'grant' | 'reserve' | 'settle';
  scanId: string | null;
  /** Pages granted, held, or spent. */
  pages: number;
  /** For `settle`: pages that were held and released. */
  released: number;
  at: Date;
}

export interface Ledger {
  /** Returns whether the hold of a scan is settled according to the ledger. The account may know of a newer settle. */
  hasSettled(organisation: string, scanId: string): Promise<boolean>;
  /** Relays the operations of an account in the background. Calls within the delay are combined. */
  relaySoon(organisation: string): void;
  /** Relays the operations of one organisation, or of all. @returns the number of relayed operations */
  relay(organisation?: string): Promise<number>;
  /** Relays, then returns the entries of an organisation, newest first. */
  entries(organisation: string, limit: number): Promise<LedgerEntry[]>;
}

/** A ledger entry as it is stored. The id consists of the organisation and the operation's id, so that a second copy is a duplicate. */
type LedgerDocument = LedgerEntry & { _id: string };

/** @param options.delayMs how long `relaySoon` waits for further operations */
export function createLedger(db: Db, { delayMs, logger }: { delayMs: number; logger?: Logger }): Ledger {
  const accounts = db.collection<Account>('accounts');
  const ledger = db.collection<LedgerDocument>('ledger');
  const scheduled = new Set<string>();

  /** Copies the operations, then marks them. After a crash in between, the copies are duplicates, which are ignored. */
  async function relayOne(organisation: string): Promise<number> {
    const account = await accounts.findOne({ _id: organisation }, { projection: { ops: 1 } });
    const waiting = account?.ops.filter((op) => !op.relayed) ?? [];
    if (waiting.length === 0) return 0;
    try {
      await ledger.insertMany(
        waiting.map((op) => toEntry(organisation, op)),
        { ordered: false },
      );
    } catch (error) {
      if (!onlyDuplicates(error)) throw error;
    }
    const marked = relayedStep(waiting.map((op) => op.id));
    await retryRace(() => accounts.updateOne({ _id: organisation }, marked));
    return waiting.length;
  }

  async function relay(organisation?: string): Promise<number> {
    if (organisation !== undefined) return relayOne(organisation);
    let relayed = 0;
    for await (const { _id } of accounts.find({ 'ops.relayed': false }, { projection: { _id: 1 } })) relayed += await relayOne(_id);
    return relayed;
  }

  return {
    relay,

    async hasSettled(organisation, scanId) {
      const settle = await ledger.findOne({ _id: `${organisation}/settle:${scanId}` }, { projection: { _id: 1 } });
      return settle !== null;
    },

    relaySoon(organisation) {
      if (scheduled.has(organisation)) return;
      scheduled.add(organisation);
      setTimeout(() => {
        scheduled.delete(organisation);
        // The next operation or the sweeper relays what fails here.
        relayOne(organisation).catch((error: unknown) => logger?.warn({ organisation, err: error }, 'ledger relay failed'));
      }, delayMs).unref();
    },

    async entries(organisation, limit) {
      await relayOne(organisation);
      const newest = ledger
        .find({ organisation }, { projection: { _id: 0 } })
        .sort({ at: -1, operation: -1 })
        .limit(limit);
      return newest.toArray();
    },
  };
}

function toEntry(organisation: string, { id, operation, scanId, pages, released, at }: Operation): LedgerDocument {
  return { _id: `${organisation}/${id}`, id, organisation, operation, scanId, pages, released, at };
}

/** Returns whether an unordered insert failed only because of entries that exist already. */
function onlyDuplicates(error: unknown): boolean {
  const failures = (error as { writeErrors?: unknown }).writeErrors;
  const all = Array.isArray(failures) ? failures : failures === undefined ? [] : [failures];
  return isDuplicate(error) && all.every(isDuplicate);
}
