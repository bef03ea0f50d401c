/** The scores of the scans of one address over time, as a line chart with the same figures in a table. Pure. */
import { chartFrame, foldedCard, link, table, time, type Column } from '../../web/components/index.ts';
import { html, NOTHING, type Html } from '../../web/html.ts';
import { number } from './scan-words.ts';
import { changeDrawing, scoreDrawing, type TrendPoint } from './trend-drawing.ts';

const COLUMNS: readonly Column[] = [{ text: 'Scan' }, { text: 'Score', numeric: true }, { text: 'Violations', numeric: true }];
/** Only if a scan was compared with its baseline. */
const DIFFERENCE_COLUMNS: readonly Column[] = [
  { text: 'New', numeric: true },
  { text: 'Fixed', numeric: true },
];

const CHANGES_LEGEND = 'Violations that the baseline of each scan does not have (up), and that are fixed since it (down)';

/** @param points oldest first. @param current the scan of the page */
export function trendChart(points: readonly TrendPoint[], current: string): Html {
  if (points.length < 2) return NOTHING;
  const isCompared = points.some(({ difference }) => difference !== null);
  return foldedCard({
    id: 'trend-card',
    title: 'Trend of this address',
    body: chartFrame({
      caption: `Score of the last ${points.length} scans with the same options`,
      svg: html`${scoreDrawing(points, current)} ${isCompared && html`<p>${CHANGES_LEGEND}</p>${changeDrawing(points)}`}`,
      tableSummary: 'All numbers as a table',
      table: table({
        id: 'trend',
        caption: 'Scores, newest first',
        columns: [...COLUMNS, ...(isCompared ? DIFFERENCE_COLUMNS : [])],
        rows: points
          .toReversed()
          .map(({ id, at, score, violations, difference }) => [
            id === current ? html`${time(at)} (this scan)` : link(time(at), `/dashboard/scans/${id}`),
            number(score),
            number(violations),
            ...(isCompared ? [shownOr(difference?.new), shownOr(difference?.fixed)] : []),
          ]),
      }),
    }),
  });
}

const shownOr = (value: number | undefined): string => (value === undefined ? '–' : number(value));
