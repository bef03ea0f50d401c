/** Idempotency keys of submissions, kept 24 h for each organisation (decisions, "Idempotency"). */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';

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
   * @returns with `claimed`, the scan id to use, and the holder: pass it on to `complete` and `release`, so that a claim that was taken over meanwhile stays as it is
   */
  claim(request: {
    organisation: string;
    key: string;
    fingerprint: string;
    scanId: string;
    leaseSeconds: number;
  }): Promise<Exclude<Claim, { state: 'claimed' }> | { state: 'claimed'; scanId: string; holder: string }>;
  /** Stores the answer that every repeat gets. */
  complete(organisation: string, key: string, answer: StoredAnswer, holder?: string): Promise<void>;
  /** Gives a claim back: the request was refused or failed, and may be sent again. */
  release(organisation: string, key: string, holder?: string): Promise<void>;
}

/** How long a key is kept. */
const KEPT_MS = 24 * 3600 * 1000;

interface ClaimDocument {
  _id: string;
  fingerprint: string;
  scanId: string;
  /** Who claimed it last: a new id a call of `claim`. */
  holder: string;
  leaseUntil: Date;
  expiresAt: Date;
  /** The answer as JSON, for a body may have field names that a document may not; null while the request is under way. */
  answer: string | null;
}

/** Takes a key that is new, or whose 24 h are over, or whose holder died over the same body: one atomic step by the server's clock. */
function claimStep(fingerprint: string, scanId: string, holder: string, leaseMs: number): Document[] {
  const expired = { $lte: [{ $ifNull: ['$expiresAt', new Date(0)] }, '$$NOW'] };
  const abandoned = {
    $and: [
      { $eq: ['$answer', null] },
      { $eq: ['$fingerprint', { $literal: fingerprint }] },
      { $lte: [{ $ifNull: ['$leaseUntil', new Date(0)] }, '$$NOW'] },
    ],
  };
  const anew = (then: unknown, otherwise: string): Document => ({ $cond: ['$fresh', then, otherwise] });
  return [
    { $set: { fresh: expired, takenOver: { $and: [{ $not: [expired] }, abandoned] } } },
    {
      $set: {
        fingerprint: anew({ $literal: fingerprint }, '$fingerprint'),
        scanId: anew({ $literal: scanId }, '$scanId'),
        answer: anew({ $literal: null }, '$answer'),
        expiresAt: anew({ $add: ['$$NOW', KEPT_MS] }, '$expiresAt'),
        holder: { $cond: [{ $or: ['$fresh', '$takenOver'] }, { $literal: holder }, '$holder'] },
        leaseUntil: { $cond: [{ $or: ['$fresh', '$takenOver'] }, { $add: ['$$NOW', leaseMs] }, '$leaseUntil'] },
      },
    },
    { $unset: ['fresh', 'takenOver'] },
  ];
}

/** Idempotency keys in MongoDB, a document each. */
export function createIdempotency(db: Db): Idempotency {
  const claims = db.collection<ClaimDocument>('idempotency');
  const idOf = (organisation: string, key: string): string => `${organisation}/${key}`;
  const heldBy = (holder: string | undefined): { holder?: string } => (holder === undefined ? {} : { holder });

  return {
    async claim({ organisation, key, fingerprint, scanId, leaseSeconds }) {
      const holder = randomUUID();
      const document = await retryRace(() =>
        claims.findOneAndUpdate({ _id: idOf(organisation, key) }, claimStep(fingerprint, scanId, holder, leaseSeconds * 1000), {
          upsert: true,
          returnDocument: 'after',
        }),
      );
      const claim = document!;
      if (claim.holder === holder) return { state: 'claimed', scanId: claim.scanId, holder };
      if (claim.fingerprint !== fingerprint) return { state: 'reused' };
      if (claim.answer === null) return { state: 'in_flight' };
      return { state: 'stored', answer: JSON.parse(claim.answer) as StoredAnswer };
    },

    async complete(organisation, key, answer, holder) {
      await claims.updateOne(
        { _id: idOf(organisation, key), answer: null, ...heldBy(holder) },
        { $set: { answer: JSON.stringify(answer) } },
      );
    },

    async release(organisation, key, holder) {
      await claims.deleteOne({ _id: idOf(organisation, key), answer: null, ...heldBy(holder) });
    },
  };
}
