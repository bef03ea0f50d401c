/** The columns of tables of scans. */
import { versionText } from '../core/scan/metadata.ts';
import { IMPACTS } from '../core/scan/impacts.ts';
import type { ListedScan } from './service/messages.ts';
import type { Column } from './table.ts';

const SCAN_COLUMNS: readonly Column<ListedScan>[] = [
  // To the minute, in UTC, as in the logs of the service.
  { heading: 'SUBMITTED', value: ({ submitted_at: at }) => at.slice(0, 16).replace('T', ' ') },
  { heading: 'STATUS', value: ({ status }) => status },
  { heading: 'SCORE', value: ({ score }) => score },
  { heading: 'VIOLATIONS', value: ({ violations_count: count }) => count },
  ...IMPACTS.map((impact): Column<ListedScan> => ({
    heading: impact.toUpperCase(),
    value: (scan) => scan[`violations_${impact}`],
    wide: true,
  })),
  { heading: 'VERDICT', value: ({ passed }) => (passed === null ? null : passed ? 'passed' : 'did not pass') },
];
const VERSION: Column<ListedScan> = { heading: 'VERSION', value: ({ metadata = {} }) => versionText(metadata) || null };
const URL_COLUMN: Column<ListedScan> = { heading: 'URL', value: ({ url }) => url };

/**
 * The columns from the submission to the URL. Branch and commit have one if a scan has them.
 */
export const scanColumns = (scans: readonly ListedScan[]): Column<ListedScan>[] => [
  ...SCAN_COLUMNS,
  ...(scans.some((scan) => VERSION.value(scan) !== null) ? [VERSION] : []),
  URL_COLUMN,
];
