import type { Logger } from '../../../platform/logger.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { PageReports } from '../../scans/views.ts';
import type { ReadFindings } from './select.ts';

/** For all reads of a request. */
const TIMEOUT_MS = 4_000;

/** Reads parts of the findings of a scan for one request. Pages say which parts they lack. The log has the first error. */
export function findingsReader(
  { pictures, logger }: { pictures: Pick<PageReports, 'readFindings'>; logger: Logger },
  row: ScanRow,
): ReadFindings {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let isLogged = false;
  return async (place) => {
    try {
      return await pictures.readFindings(row, place, signal);
    } catch (error) {
      if (!isLogged) logger.warn({ scan: row.id, err: error }, 'findings not read');
      isLogged = true;
      return null;
    }
  };
}
