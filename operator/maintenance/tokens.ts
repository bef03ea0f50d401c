/** Removes the tokens of public scans that have expired or whose scan never ran, with the e-mail addresses. */
import type { PublicScan, PublicScans } from '../../stores/public-scans/public-scans.ts';
import type { Scans } from '../../stores/scans/scans.ts';
import { rowsOf } from '../rows-of.ts';
import type { Run } from './run.ts';

export interface TokensDeps {
  publicScans: Pick<PublicScans, 'unmailed' | 'remove' | 'removeExpired'>;
  scans: Pick<Scans, 'findMany'>;
  now: () => Date;
}

/** A submission takes at most 60 s. A token without a scan after this time was never given to anyone. */
const SUBMITTED_WITHIN_MS = 600_000;

export async function removeTokens(deps: TokensDeps, { result, each }: Run): Promise<void> {
  const { publicScans } = deps;
  result.tokens = await publicScans.removeExpired();
  const fieldsOf = ({ scanId }: PublicScan) => ({ scan: scanId });
  await each(await withoutScan(deps), fieldsOf, async ({ token }) => {
    await publicScans.remove(token);
    result.tokens += 1;
  });
}

/** The mail of a public scan that ended is queued within seconds, so that few are unmailed. */
async function withoutScan({ publicScans, scans, now }: TokensDeps): Promise<PublicScan[]> {
  const before = now().getTime() - SUBMITTED_WITHIN_MS;
  const old: PublicScan[] = [];
  for await (const one of publicScans.unmailed()) if (one.createdAt.getTime() < before) old.push(one);
  const ids = old.map(({ scanId }) => scanId);
  const rows = await rowsOf(scans, ids);
  return old.filter(({ scanId }) => (rows.get(scanId)?.submission ?? 'abandoned') === 'abandoned');
}
