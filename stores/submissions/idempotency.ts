/**
 * Idempotency keys, kept for 24 hours per organisation (decisions, "Idempotency"). A record names what the request creates from
 * the first moment. For scans it holds no response: the row of the scan says whether it was accepted, and with which pages.
 */
import { randomUUID } from 'node:crypto';
import type { Db, Document } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';

/** What a repeated request gets: the first response, or only the ID of what it was about, because it held a secret. */
export type Repetition = FirstResponse | { secretOf: string };
interface FirstResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Null: it had none. */
  body: string | null;
  /** The scan whose address the body names. */
  scan?: string;
}

/** A claim that a request owns until its lease ends. */
export interface OwnedClaim {
  organisation: string;
  key: string;
  /** The id of this claim, so that a late request does not change a claim that another one has taken over. */
  holder: string;
  resourceId: string;
  /** An earlier request claimed the key. It may have created the resource, and it may still be running. */
  takenOver: boolean;
}

export type Claim =
  | { ok: true; claim: OwnedClaim }
  /**
   * Another request has the lease for the given time, and may have created the resource already. Or it has completed, and this
   * is what its repetition gets.
   */
  | { ok: false; reason: 'held'; resourceId: string; leaseMs: number; repetition: Repetition | null }
  /** The same key was sent with another body. */
  | { ok: false; reason: 'reused' };

/** How long a key is kept, in milliseconds. */
export const KEY_KEPT_MS = 24 * 3600 * 1000;

interface ClaimDocument {
  _id: string;
  fingerprint: string;
  /** The ID of what the request creates. */
  scanId: string;
  /** The id of the last successful claim. Each call of `claim` has a new id. */
  holder: string;
  leaseUntil: Date;
  expiresAt: Date;
  repetition: Repetition | null;
}

/** Claims a key that is new or expired, or whose lease ended with the same body. One atomic step, by the server's clock. */
function claimStep(fingerprint: string, resourceId: string, holder: string, leaseMs: number): Document[] {
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
        scanId: anew({ $literal: resourceId }, '$scanId'),
        repetition: anew(null, '$repetition'),
        expiresAt: anew({ $add: ['$$NOW', KEY_KEPT_MS] }, '$expiresAt'),
        holder: { $cond: [{ $or: ['$fresh', '$takenOver'] }, { $literal: holder }, '$holder'] },
        leaseUntil: { $cond: [{ $or: ['$fresh', '$takenOver'] }, { $add: ['$$NOW', leaseMs] }, '$leaseUntil'] },
      },
    },
    { $unset: ['fresh', 'takenOver'] },
  ];
}

/** Idempotency keys in MongoDB, one document per key. */
export function createIdempotency(db: Db) {
  const claims = db.collection<ClaimDocument>('idempotency');
  const idOf = ({ organisation, key }: { organisation: string; key: string }): string => `${organisation}/${key}`;
  const own = (claim: OwnedClaim): { _id: string; holder: string } => ({ _id: idOf(claim), holder: claim.holder });

  async function release(claim: OwnedClaim): Promise<void> {
    await claims.updateOne(own(claim), { $set: { leaseUntil: new Date(0) } });
  }

  return {
    /** Ends the lease of a claim. The record keeps its id, because the resource may exist. */
    release,

    /**
     * Claims a key for one request. After `leaseSeconds`, or after `release`, another request with the same body takes the claim over.
     * @param fingerprint a hash of the request
     * @param resourceId the id of what the request would create; a claim that is taken over keeps its id
     */
    async claim({
      organisation,
      key,
      fingerprint,
      resourceId,
      leaseSeconds,
    }: {
      organisation: string;
      key: string;
      fingerprint: string;
      resourceId: string;
      leaseSeconds: number;
    }): Promise<Claim> {
      const holder = randomUUID();
      const leaseMs = leaseSeconds * 1000;
      const stored = await retryRace(() =>
        claims.findOneAndUpdate({ _id: idOf({ organisation, key }) }, claimStep(fingerprint, resourceId, holder, leaseMs), {
          upsert: true,
          returnDocument: 'after',
        }),
      );
      const claim = stored!;
      if (claim.holder === holder)
        return { ok: true, claim: { organisation, key, holder, resourceId: claim.scanId, takenOver: claim.scanId !== resourceId } };
      if (claim.fingerprint !== fingerprint) return { ok: false, reason: 'reused' };
      // The clocks of this process and the server may differ.
      const left = Math.min(leaseMs, Math.max(0, claim.leaseUntil.getTime() - Date.now()));
      return { ok: false, reason: 'held', resourceId: claim.scanId, leaseMs: left, repetition: claim.repetition };
    },

    /** Stores what a repeated request gets, for the rest of the 24 hours. No request takes the claim over any more. */
    async complete(claim: OwnedClaim, repetition: Repetition) {
      await claims.updateOne(own(claim), [{ $set: { repetition: { $literal: repetition }, leaseUntil: '$expiresAt' } }]);
    },

    /** Deletes the claims whose responses name the address of a scan. Their requests are done again, and do not find the scan. */
    async removeOf(scan: string) {
      await claims.deleteMany({ 'repetition.scan': scan });
    },

    /**
     * Gives a claim whose scan was abandoned another scan id.
     * @returns the changed claim; null if another request has taken it over
     */
    async restart(claim: OwnedClaim, resourceId: string): Promise<OwnedClaim | null> {
      const { matchedCount } = await claims.updateOne({ ...own(claim), scanId: claim.resourceId }, { $set: { scanId: resourceId } });
      return matchedCount === 1 ? { ...claim, resourceId } : null;
    },

    /** Removes a claim whose resource will certainly never exist, so that the key can be used with another body. Releases it if it was taken over. */
    async remove(claim: OwnedClaim) {
      if (claim.takenOver) return release(claim);
      await claims.deleteOne(own(claim));
    },
  };
}
export type Idempotency = ReturnType<typeof createIdempotency>;
