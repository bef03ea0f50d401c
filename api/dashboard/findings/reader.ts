import type { Logger } from '../../../platform/logger.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { PageReports } from '../../scans/views.ts';
import type { ReadFindings } from './select.ts';

const TIMEOUT_MS = 4_000;

/** Reads parts of the findings of a scan. Pages say which parts they lack. */
export const findingsReader =
  ({ pictures, logger }: { pictures: Pick<PageReports, 'readFindings'>; logger: Logger }, row: ScanRow): ReadFindings =>
  async (place) => {
    try {
      return await pictures.readFindings(row, place, AbortSignal.timeout(TIMEOUT_MS));
    } catch (error) {
      logger.warn({ scan: row.id, err: error }, 'findings not read');
      return null;
    }
  };
