/** The columns of tables of scans. */
import { IMPACTS } from '../core/scan/impacts.ts';
import type { ListedScan } from './service/messages.ts';
import type { Column } from './table.ts';

/** The columns that `curbcut list` and `kubectl curbcut list` share, from the submission to the URL. */
export const SCAN_COLUMNS: readonly Column<ListedScan>[] = [
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
  { heading: 'URL', value: ({ url }) => url },
];
