/** Which scans of a site can be compared: those with the same rules, the same choice of pages and the same sign-in. Pure. */
import { createHash } from 'node:crypto';
import type { ScanRow } from './scan-row.ts';

/** The options that decide what a scan finds on a site that stays the same. */
export const comparedOptions = ({ wcagLevel, wcagVersion, maxPages, crawl }: ScanRow['options']) => ({
  wcagLevel,
  wcagVersion,
  maxPages,
  crawl,
});

/** Identifies the compared options of a scan and its sign-in, whatever the order of their fields. */
export function optionsKeyOf({ options, auth }: Pick<ScanRow, 'options' | 'auth'>): string {
  const sorted = (_name: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const text = JSON.stringify([comparedOptions(options), auth ?? null], sorted);
  return createHash('sha256').update(text).digest('hex').slice(0, OPTIONS_KEY_LENGTH);
}

const OPTIONS_KEY_LENGTH = 16;
