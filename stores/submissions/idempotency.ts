/**
 * Idempotency keys of submissions, kept for 24 hours per organisation (decisions, "Idempotency"). A record names the scan from
 * the first moment. It does not hold the response: the row of that scan says whether it was accepted, and with which pages.
 */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';

/** A claim that a request owns until its lease ends. */
export interface OwnedClaim {
  organisation: string;
  key: string;
  /** The id of this claim, so that a late request does not change a claim that another one has taken over. */
  holder: string;
  scanId: string;
  /** An earlier request claimed the key. It may have submitted the scan, and it may still be running. */
  takenOver: boolean;
}

export type Claim =
  | { ok: true; claim: OwnedClaim }
  /** Another request has the lease for the given time. It may have submitted the scan already. */
  | { ok: false; reason: 'held'; scanId: string; leaseMs: number }
  /** The same key was sent with another body. */
  | { ok: false; reason: 'reused' };

export interface Idempotency {
  /**
   * Claims a key for one request. After `leaseSeconds`, or after `release`, another request with the same body takes the claim over.
   * @param fingerprint a hash of the request's body
   * @param scanId the id of the scan that the request would create; a claim that is taken over keeps its scan id
   */
  claim(request: { organisation: string; key: string; fingerprint: string; scanId: string; leaseSeconds: number }): Promise<Claim>;
  /**
   * Gives a claim whose scan was abandoned another scan id.
   * @returns the changed claim; null if another request has taken it over
   */
  restart(claim: OwnedClaim, scanId: string): Promise<OwnedClaim | null>;
  /** Ends the lease of a claim. The record keeps its scan id, because the scan may run. */
  release(claim: OwnedClaim): Promise<void>;
  /** Removes a claim whose scan will certainly never run, so that the key can be used with another body. Releases it if it was taken over. */
  remove(claim: OwnedClaim): Promise<void>;
}

/** How long a key is kept, in milliseconds. */
export const KEY_KEPT_MS = 24 * 3600 * 1000;

interface ClaimDocument {
  _id: string;
  fingerprint: string;
  scanId: string;
  /** The id of the last successful claim. Each call of `claim` has a new id. */
  holder: string;
  leaseUntil: Date;
  expiresAt: Date;
}

/** Claims a key that is new or expired, or whose lease ended with the same body. One atomic step, by the server's clock. */
function claimStep(fingerprint: string, scanId: string, holder: string, leaseMs: number): Document[] {
  const expired = { $lte: [{ $ifNull: ['$expiresAt', new Date(0)] }, '$$NOW'] };
  const free = {
    $and: [{ $eq: ['$fingerprint', { $literal: fingerprint }] }, { $lte: [{ $ifNull: ['$leaseUntil', new Date(0)] }, '$$NOW'] }],
  };
  const anew = (then: unknown, otherwise: string): Document => ({ $cond: ['$fresh', then, otherwise] });
  return [
    { $set: { fresh: expired, takenOver: { $and: [{ $not: [expired] }, free] } } },
    {
      $set: {
        fingerprint: anew({ $literal: fingerprint }, '$fingerprint'),
        scanId: anew({ $literal: scanId }, '$scanId'),
        expiresAt: anew({ $add: ['$$NOW', KEY_KEPT_MS] }, '$expiresAt'),
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
  const idOf = ({ organisation, key }: { organisation: string; key: string }): string => `${organisation}/${key}`;
  const own = (claim: OwnedClaim): { _id: string; holder: string } => ({ _id: idOf(claim), holder: claim.holder });

  async function release(claim: OwnedClaim): Promise<void> {
    await claims.updateOne(own(claim), { $set: { leaseUntil: new Date(0) } });
  }

  return {
    release,

    async claim({ organisation, key, fingerprint, scanId, leaseSeconds }) {
      const holder = randomUUID();
      const leaseMs = leaseSeconds * 1000;
      const stored = await retryRace(() =>
        claims.findOneAndUpdate({ _id: idOf({ organisation, key }) }, claimStep(fingerprint, scanId, holder, leaseMs), {
          upsert: true,
          returnDocument: 'after',
        }),
      );
      const claim = stored!;
      if (claim.holder === holder)
        return { ok: true, claim: { organisation, key, holder, scanId: claim.scanId, takenOver: claim.scanId !== scanId } };
      if (claim.fingerprint !== fingerprint) return { ok: false, reason: 'reused' };
      // The clocks of this process and the server may differ.
      const left = Math.min(leaseMs, Math.max(0, claim.leaseUntil.getTime() - Date.now()));
      return { ok: false, reason: 'held', scanId: claim.scanId, leaseMs: left };
    },

    async restart(claim, scanId) {
      const { matchedCount } = await claims.updateOne({ ...own(claim), scanId: claim.scanId }, { $set: { scanId } });
      return matchedCount === 1 ? { ...claim, scanId } : null;
    },

    async remove(claim) {
      if (claim.takenOver) return release(claim);
      await claims.deleteOne(own(claim));
    },
  };
}
