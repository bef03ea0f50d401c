/**
 * Public scans: who gets the result of a scan of the anonymous organisation, and the token that opens it. One document per
 * token, which is removed with the e-mail address when the token expires. The scan's own row never has the address.
 */
import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import type { Locale } from '../../core/scan/locales.ts';
import { isToken, newToken } from '../accounts/one-time-links.ts';
import type { CountedRequest } from '../rate-limits.ts';
import { isDuplicate, retryRace } from '../mongo-retry.ts';

/**
 * The policies that limit what a visitor requests. They are returned for a scan that gave the visitor nothing through a fault of ours. The
 * other policies limit mails, and count each one.
 */
export const VISITOR_POLICIES = { hour: 'public-hour', day: 'public-day' } as const;

export interface PublicScan {
  /** 32 random bytes in base64url. Everyone who has it can read the result. */
  token: string;
  scanId: string;
  /** As a browser understands it. */
  url: string;
  /** As it was typed. */
  email: string;
  /** The language of the result page and the mail. */
  locale: Locale;
  createdAt: Date;
  /** The token opens nothing after this time, and the sweeper then removes the document. */
  expiresAt: Date;
  /** Where its request was counted, with the visitor's network. Absent after the scan has ended. */
  counted?: CountedRequest;
  /** The secret of the link that shows the result to others, in the form of a token. Absent: the result is not shared. */
  share?: string;
}

export type PublicScanClaim =
  | { ok: true }
  /** Another request of the network for the same URL and e-mail address has the claim. */
  | { ok: false; reason: 'claimed'; by: PublicScan };

type PublicScanDocument = Omit<PublicScan, 'token'> & {
  _id: string;
  /** Of its URL, its e-mail address and the visitor's network. Absent after the claim has ended. */
  claim?: string;
  /** When it was stored. Absent after its mail was queued. */
  unmailedSince?: Date;
};

/** Public scans in MongoDB. @param now compared with the expiry of a token */
export function createPublicScans(db: Db, now: () => Date = () => new Date()) {
  const documents = db.collection<PublicScanDocument>('public_scans');
  const current = () => ({ expiresAt: { $gt: now() } });

  async function findClaim(claim: string): Promise<PublicScan | null> {
    const found = await documents.findOne({ claim });
    return found && toPublicScan(found);
  }

  return {
    /**
     * Stores a public scan and claims its URL and e-mail address for the network of its visitor. At most one public scan has the
     * three at any time. Addresses are compared without regard to case.
     */
    async claim(scan: PublicScan, network: string): Promise<PublicScanClaim> {
      const { token, ...rest } = scan;
      const claim = claimOf(scan, network);
      return retryRace(async () => {
        try {
          await documents.insertOne({ _id: token, ...rest, claim, unmailedSince: scan.createdAt });
          return { ok: true };
        } catch (error) {
          const by = isDuplicate(error) ? await findClaim(claim) : null;
          // The claim before it ended at the same moment.
          if (by === null) throw error;
          // A repeated command after a lost answer finds its own document.
          return by.token === token ? { ok: true } : { ok: false, reason: 'claimed', by };
        }
      });
    },

    /** Ends the claim of a public scan, so that the URL can be scanned again for the same e-mail address. Keeps the token. */
    async releaseClaim(token: string) {
      await documents.updateOne({ _id: token }, { $unset: { claim: '' } });
    },

    /** Removes a public scan whose scan never runs. */
    async remove(token: string) {
      await documents.deleteOne({ _id: token });
    },

    /** Returns null if the token is malformed (checked without a command), is unknown or has expired. */
    async findByToken(token: string): Promise<PublicScan | null> {
      if (!isToken(token)) return null;
      const found = await documents.findOne({ _id: token, ...current() });
      return found && toPublicScan(found);
    },

    /** Shares a result. A result that is shared keeps its link. @returns null if the token is unknown or has expired */
    async share(token: string): Promise<PublicScan | null> {
      if (!isToken(token)) return null;
      await documents.updateOne({ _id: token, share: { $exists: false }, ...current() }, { $set: { share: newToken() } });
      const found = await documents.findOne({ _id: token, ...current() });
      return found && toPublicScan(found);
    },

    /** Takes the link of a result back: it opens nothing from now on. Idempotent. */
    async unshare(token: string) {
      await documents.updateOne({ _id: token }, { $unset: { share: '' } });
    },

    /** Returns the public scan that is shared with this link. Null as `findByToken`, or if the link was taken back. */
    async findByShare(share: string): Promise<PublicScan | null> {
      if (!isToken(share)) return null;
      const found = await documents.findOne({ share, ...current() });
      return found && toPublicScan(found);
    },

    /** Returns the public scan of a scan; null if it has none, or its token has expired. */
    async findByScan(scanId: string): Promise<PublicScan | null> {
      const found = await documents.findOne({ scanId, ...current() });
      return found && toPublicScan(found);
    },

    /** Returns the public scans whose mail was not queued yet, oldest first. Most of them are still live. */
    async *unmailed(): AsyncIterable<PublicScan> {
      for await (const found of documents.find({ unmailedSince: { $exists: true } }).sort({ unmailedSince: 1 })) yield toPublicScan(found);
    },

    /** Records that the mail of a public scan was queued, or will never be. Idempotent. */
    async markMailed(token: string) {
      await documents.updateOne({ _id: token }, { $unset: { unmailedSince: '', counted: '' } });
    },

    /** Forgets the visitor of a public scan whose mail cannot be queued now. Idempotent. */
    async forgetVisitor(token: string) {
      await documents.updateOne({ _id: token }, { $unset: { counted: '' } });
    },

    /** Removes the public scans whose token has expired. @returns their number */
    async removeExpired(): Promise<number> {
      const { deletedCount } = await documents.deleteMany({ expiresAt: { $lte: now() } });
      return deletedCount;
    },
  };
}

function toPublicScan({ _id, claim: _claim, unmailedSince: _since, ...rest }: PublicScanDocument): PublicScan {
  return { token: _id, ...rest };
}

/** A hash, because a URL may be longer than an index entry, and so that the network is not part of the claim. */
function claimOf({ url, email }: PublicScan, network: string): string {
  return createHash('sha256').update(`${url}\n${email.toLowerCase()}\n${network}`).digest('hex');
}
