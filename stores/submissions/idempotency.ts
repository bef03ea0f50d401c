/** Idempotency keys of submissions, kept for 24 hours per organisation (decisions, "Idempotency"). */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

export type Claim =
  /** Pass `holder` to `complete` and `release`, so that they do not change a claim that another request has taken over. */
  | { ok: true; scanId: string; holder: string }
  | { ok: false; reason: 'in_progress' }
  | { ok: false; reason: 'answered'; answer: StoredAnswer }
  /** The same key was sent with another body. */
  | { ok: false; reason: 'reused' };

export interface Idempotency {
  /**
   * Claims a key for one request. If the holder crashed, another request can take the claim over after `leaseSeconds`.
   * @param fingerprint a hash of the request's body
   * @param scanId the id of the scan that the request would create; a claim that is taken over keeps its first scan id
   */
  claim(request: { organisation: string; key: string; fingerprint: string; scanId: string; leaseSeconds: number }): Promise<Claim>;
  /** Stores the answer for repeats. */
  complete(organisation: string, key: string, answer: StoredAnswer, holder?: string): Promise<void>;
  /** Releases a claim after the request was refused or failed, so that it can be sent again. */
  release(organisation: string, key: string, holder?: string): Promise<void>;
}

/** How long a key is kept, in milliseconds. */
const KEPT_MS = 24 * 3600 * 1000;

interface ClaimDocument {
  _id: string;
  fingerprint: string;
  scanId: string;
  /** The id of the last successful claim. Each call of `claim` has a new id. */
  holder: string;
  leaseUntil: Date;
  expiresAt: Date;
  /** The answer as JSON, because a body may have field names that a document may not; null while the request is in progress. */
  answer: string | null;
}

/** Claims a key that is new or expired, or whose lease ended with the same body. One atomic step, by the server's clock. */
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

/** Idempotency keys in MongoDB, one document per key. */
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
      if (claim.holder === holder) return { ok: true, scanId: claim.scanId, holder };
      if (claim.fingerprint !== fingerprint) return { ok: false, reason: 'reused' };
      if (claim.answer === null) return { ok: false, reason: 'in_progress' };
      return { ok: false, reason: 'answered', answer: JSON.parse(claim.answer) as StoredAnswer };
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
