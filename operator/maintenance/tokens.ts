/** Removes the tokens of public scans that have expired or whose scan never ran, with the e-mail addresses. */
import type { PublicScan, PublicScans } from '../../stores/public-scans/public-scans.ts';
import type { Scans } from '../../stores/scans/scans.ts';
import type { Isolation } from './isolation.ts';

export interface TokensDeps {
  publicScans: Pick<PublicScans, 'unmailed' | 'remove' | 'removeExpired'>;
  scans: Pick<Scans, 'findMany'>;
  now: () => Date;
}

/** A submission takes at most 60 s. A token without a scan after this time was never given to anyone. */
const SUBMITTED_WITHIN_MS = 600_000;
const ROWS_PER_QUERY = 1_000;

/** @returns the number of removed tokens */
export async function removeTokens(deps: TokensDeps, isolation: Pick<Isolation, 'each'>): Promise<number> {
  const { publicScans } = deps;
  let removed = await publicScans.removeExpired();
  await isolation.each(
    await withoutScan(deps),
    ({ scanId }) => ({ scan: scanId }),
    async ({ token }) => {
      await publicScans.remove(token);
      removed += 1;
    },
  );
  return removed;
}

/** The mail of a public scan that ended is queued within seconds, so that few are unmailed. */
async function withoutScan({ publicScans, scans, now }: TokensDeps): Promise<PublicScan[]> {
  const before = now().getTime() - SUBMITTED_WITHIN_MS;
  const old: PublicScan[] = [];
  for await (const one of publicScans.unmailed()) if (one.createdAt.getTime() < before) old.push(one);
  const found: PublicScan[] = [];
  for (let at = 0; at < old.length; at += ROWS_PER_QUERY) {
    const batch = old.slice(at, at + ROWS_PER_QUERY);
    const rows = new Map((await scans.findMany(batch.map(({ scanId }) => scanId))).map((row) => [row.id, row]));
    found.push(...batch.filter(({ scanId }) => (rows.get(scanId)?.submission ?? 'abandoned') === 'abandoned'));
  }
  return found;
}
