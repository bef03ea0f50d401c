/** Deletes uploads that no scan needs any more: an operator that crashed left them, or a pod stored them after its scan ended. */
import { isTerminal } from '../../core/scan/phases.ts';
import { incomingPrefix, type Reports, type Upload } from '../../stores/reports.ts';
import type { Scans } from '../../stores/scans/scans.ts';
import { rowsOf } from '../rows-of.ts';
import type { Run } from './run.ts';

export interface UploadsDeps {
  scans: Pick<Scans, 'findMany'>;
  reports: Pick<Reports, 'uploads' | 'removeAll'>;
  now: () => Date;
}

/** The age from which the uploads of an ended scan are deleted. */
const ENDED_KEPT_MS = 3_600_000;
/** The age from which uploads without a row are deleted: longer than any scan of another installation that shares the bucket. */
const UNKNOWN_KEPT_MS = 8 * 86_400_000;

export async function removeUploads({ scans, reports, now }: UploadsDeps, { result, signal, each }: Run): Promise<void> {
  const age = ({ newestAt }: Upload) => now().getTime() - newestAt.getTime();
  const old = (await reports.uploads(signal)).filter((upload) => age(upload) > ENDED_KEPT_MS);
  const ids = old.map(({ scanId }) => scanId);
  const rows = await rowsOf(scans, ids);
  const isNeedless = (upload: Upload) => {
    const row = rows.get(upload.scanId);
    return row === undefined ? age(upload) > UNKNOWN_KEPT_MS : isTerminal(row.phase);
  };
  const fieldsOf = ({ scanId: scan }: Upload) => ({ scan });
  await each(old.filter(isNeedless), fieldsOf, async ({ scanId }) => {
    await reports.removeAll(incomingPrefix(scanId));
    result.uploads += 1;
  });
}
