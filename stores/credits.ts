/**
 * Credits, exact under races, crashes and repeats. The organisation's account is one document
 * `{granted, available, spent, held: {scanId: n}, ops}` with `available + Σheld + spent = granted`; every operation is one
 * guarded atomic update (no transactions, so no replica set is needed), remembered by its id, and relayed to an
 * append-only ledger.
 */

export interface Balance {
  /** What can be reserved now. */
  balance: number;
  granted: number;
  held: number;
  spent: number;
}

export type Reservation = { reserved: number; balance: number } | { reserved: 0; insufficient: true; balance: number };

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

export interface Credits {
  /** Opens an organisation's account, empty. Idempotent. */
  open(organisation: string): Promise<void>;
  balance(organisation: string): Promise<Balance>;
  /** Adds credits once for each grant id. @returns true if this call added them */
  grant(organisation: string, grantId: string, pages: number): Promise<boolean>;
  /**
   * Holds credits for a scan, once: a repeat answers with what is held (or was settled) already.
   * @param partial true: as many as there are, at least one; false: all or nothing
   * @param deadline the reserve is refused by the store's own clock after this moment, so that a stalled request cannot hold credits for a scan that was given up
   * @throws DeadlinePassed when the store's clock is past the deadline
   */
  reserve(request: { organisation: string; scanId: string; pages: number; partial: boolean; deadline: Date }): Promise<Reservation>;
  /** Ends a hold, once: `pages` (at most what is held) are spent, the rest is available again. Unknown or settled holds change nothing. @returns true if this call settled it */
  settle(organisation: string, scanId: string, pages: number): Promise<boolean>;
  /** Scans that hold credits, for the sweeper. */
  holds(organisation: string): Promise<{ scanId: string; pages: number }[]>;
  /** Ledger entries, newest first. */
  ledger(organisation: string, limit: number): Promise<LedgerEntry[]>;
}

/** The store's clock is past the deadline of a reservation. */
export class DeadlinePassed extends Error {
  constructor() {
    super('the reservation came too late');
    this.name = 'DeadlinePassed';
  }
}
