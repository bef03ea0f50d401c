/** Comparisons of two scans, kept for a while: the exports of ended scans never change. */
import type { Db } from 'mongodb';
import type { ComparisonStore, LastingComparison } from '../report/workers/comparisons.ts';
import { FINGERPRINT_VERSION } from '../report/schema/engines.ts';

/** Increase this if the result of a comparison changes. */
const COMPARISON_VERSION = 3;

/** How long a comparison is kept, in milliseconds. It can be repeated while both exports exist. */
const KEPT_MS = 7 * 86_400_000;

export interface ComparisonCache extends ComparisonStore {
  /** Deletes the comparisons of a scan whose reports are deleted. */
  removeOf(scanId: string): Promise<void>;
}

interface ComparisonDocument {
  _id: string;
  organisation: string;
  scans: [before: string, after: string];
  result: LastingComparison;
  expiresAt: Date;
}

export function createComparisonCache(db: Db): ComparisonCache {
  const comparisons = db.collection<ComparisonDocument>('comparisons');
  const idOf = (beforeId: string, afterId: string) => `${COMPARISON_VERSION}.${FINGERPRINT_VERSION}:${beforeId}:${afterId}`;
  return {
    async find(organisation, beforeId, afterId) {
      const document = await comparisons.findOne({ _id: idOf(beforeId, afterId), organisation });
      return document?.result ?? null;
    },
    async store(organisation, beforeId, afterId, result, now) {
      const expiresAt = new Date(now.getTime() + KEPT_MS);
      const fields = { organisation, scans: [beforeId, afterId] as [string, string], result, expiresAt };
      await comparisons.replaceOne({ _id: idOf(beforeId, afterId) }, fields, { upsert: true });
    },
    async removeOf(scanId) {
      await comparisons.deleteMany({ scans: scanId });
    },
  };
}
