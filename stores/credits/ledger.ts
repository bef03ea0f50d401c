/**
 * The ledger: an append-only copy of every operation on the accounts. An account keeps an operation until it is copied
 * ("relayed"), so that a crash loses no entry.
 */
import type { Db } from 'mongodb';
import type { Logger } from '../../platform/logger.ts';
import { insertMissing, retryRace } from '../mongo-retry.ts';
import { relayedStep, type Account, type Operation } from './credit-steps.ts';

export interface LedgerEntry extends Omit<Operation, 'relayed'> {
  organisation: string;
}

export interface LedgerPage {
  /** Only entries with a lower sequence number. */
  before?: number | null;
  /** One entry for each scan: not the reserve of one that is settled, even if its settle is not in this part. Default: false. */
  perScan?: boolean;
  limit: number;
}

/** A ledger entry as it is stored. The id consists of the organisation and the operation's id, so that a second copy is a duplicate. */
type LedgerDocument = LedgerEntry & { _id: string };

/** The number of accounts whose operations are copied at once. */
const RELAY_BATCH = 100;

/** @param options.delayMs how long `relaySoon` waits for further operations */
export function createLedger(db: Db, { delayMs, logger }: { delayMs: number; logger?: Logger }) {
  const accounts = db.collection<Account>('accounts');
  const ledger = db.collection<LedgerDocument>('ledger');
  const scheduled = new Set<string>();

  /**
   * Copies the operations of the accounts, then marks them: one command each, whatever the number of accounts. After a
   * crash in between, the copies are duplicates, which are ignored.
   */
  async function copy(found: readonly Pick<Account, '_id' | 'ops'>[]): Promise<number> {
    const waiting = found.map(({ _id, ops }) => ({ organisation: _id, ops: ops.filter((op) => !op.relayed) }));
    const entries = waiting.flatMap(({ organisation, ops }) => ops.map((op) => toDocument(entryOf(organisation, op))));
    if (entries.length === 0) return 0;
    await insertMissing(ledger, entries);
    const marks = waiting
      .filter(({ ops }) => ops.length > 0)
      .map(({ organisation, ops }) => ({ updateOne: { filter: { _id: organisation }, update: relayedStep(ops.map((op) => op.id)) } }));
    await retryRace(() => accounts.bulkWrite(marks, { ordered: false }));
    return entries.length;
  }

  async function relay(organisation?: string): Promise<number> {
    const filter = organisation === undefined ? { 'ops.relayed': false } : { _id: organisation, 'ops.relayed': false };
    let relayed = 0;
    let batch: Pick<Account, '_id' | 'ops'>[] = [];
    for await (const account of accounts.find(filter, { projection: { ops: 1 } })) {
      batch.push(account);
      if (batch.length < RELAY_BATCH) continue;
      relayed += await copy(batch);
      batch = [];
    }
    return relayed + (await copy(batch));
  }

  return {
    /** Relays the operations of one organisation, or of all. @returns the number of relayed operations */
    relay,

    /** Returns the pages that the settle of a scan spent; null if the ledger has no settle. The account may know of a newer one. */
    async settledPages(organisation: string, scanId: string): Promise<number | null> {
      const settle = await ledger.findOne({ _id: `${organisation}/settle:${scanId}` }, { projection: { pages: 1 } });
      return settle && settle.pages;
    },

    /** Relays the operations of an account in the background. Calls within the delay are combined. */
    relaySoon(organisation: string) {
      if (scheduled.has(organisation)) return;
      scheduled.add(organisation);
      setTimeout(() => {
        scheduled.delete(organisation);
        // The next operation or the sweeper relays what fails here.
        relay(organisation).catch((error: unknown) => logger?.warn({ organisation, err: error }, 'ledger relay failed'));
      }, delayMs).unref();
    },

    /** Returns entries of an organisation, newest first, including operations that are not relayed yet. Writes nothing. */
    async entries(organisation: string, { before, perScan = false, limit }: LedgerPage): Promise<LedgerEntry[]> {
      const account = await accounts.findOne({ _id: organisation }, { projection: { ops: 1, sequence: 1, held: 1 } });
      if (account === null) return [];
      const holding = Object.keys(account.held);
      // Every operation up to the account's latest is in the account or in the ledger. Later ones may be in neither read.
      const end = Math.min(before ?? Number.POSITIVE_INFINITY, account.sequence + 1);
      const copied = ledger
        .find(
          {
            ...{ organisation, sequence: { $lt: end } },
            ...(perScan && { $or: [{ operation: { $ne: 'reserve' } }, { scanId: { $in: holding } }] }),
          },
          { projection: { _id: 0 } },
        )
        .sort({ sequence: -1 })
        .limit(limit);
      const entries = new Map<number, LedgerEntry>((await copied.toArray()).map((entry) => [entry.sequence, entry]));
      const isListed = ({ operation, scanId }: Operation): boolean => !perScan || operation !== 'reserve' || holding.includes(scanId ?? '');
      for (const op of account.ops)
        if (!op.relayed && op.sequence < end && isListed(op)) entries.set(op.sequence, entryOf(organisation, op));
      return [...entries.values()].sort((a, b) => b.sequence - a.sequence).slice(0, limit);
    },
  };
}

function entryOf(organisation: string, { relayed: _relayed, ...operation }: Operation): LedgerEntry {
  return { organisation, ...operation };
}

function toDocument(entry: LedgerEntry): LedgerDocument {
  return { _id: `${entry.organisation}/${entry.id}`, ...entry };
}
