/** Challenges for passkeys. Each can be answered once, within ten minutes, by the one to whom it was given. */
import { randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';

const VALID_MS = 600_000;

export function createPasskeyChallenges(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const challenges = db.collection<{ _id: string; subject: string; expiresAt: Date }>('passkeyChallenges');
  return {
    /** Makes a challenge. @param subject what it is for and whose it is @returns it in base64url */
    async issue(subject: string): Promise<string> {
      const challenge = randomBytes(32).toString('base64url');
      await challenges.insertOne({ _id: challenge, subject, expiresAt: new Date(now().getTime() + VALID_MS) });
      return challenge;
    },

    /** Uses up a challenge. @returns false if it is unknown, used, too old, or of another subject */
    async take(challenge: string, subject: string): Promise<boolean> {
      const found = await challenges.findOneAndDelete({ _id: challenge, subject });
      return found !== null && found.expiresAt > now();
    },
  };
}
