/** Idempotency keys of submissions, kept 24 h for each organisation (decisions, "Idempotency"). */

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

export type Claim =
  | { state: 'claimed' }
  | { state: 'in_flight' }
  | { state: 'stored'; answer: StoredAnswer }
  /** The same key came with another body. */
  | { state: 'reused' };

export interface Idempotency {
  /**
   * Claims a key for one request. A claim whose holder died is free again after `leaseSeconds`.
   * @param fingerprint of the request's body
   * @param scanId what this request would create; a claim taken over from a dead holder keeps the first one's
   * @returns with `claimed`, the scan id to use
   */
  claim(request: {
    organisation: string;
    key: string;
    fingerprint: string;
    scanId: string;
    leaseSeconds: number;
  }): Promise<Exclude<Claim, { state: 'claimed' }> | { state: 'claimed'; scanId: string }>;
  /** Stores the answer that every repeat gets. */
  complete(organisation: string, key: string, answer: StoredAnswer): Promise<void>;
  /** Gives a claim back: the request was refused or failed, and may be sent again. */
  release(organisation: string, key: string): Promise<void>;
}
