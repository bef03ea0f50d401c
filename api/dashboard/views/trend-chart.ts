/** The scores of the scans of one address over time, as a line chart with the same figures in a table. Pure. */
import { chartFrame, link, table, time, type Column } from '../../web/components/index.ts';
import { attributes, html, NOTHING, type Html } from '../../web/html.ts';
import { date, number } from './scan-words.ts';

/** A scan that is done. */
export interface TrendPoint {
  id: string;
  at: Date;
  score: number;
  violations: number;
  /** Compared with its baseline. Null: it was not compared. */
  difference: { new: number; fixed: number } | null;
}

const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 44;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 34;
const GRID = [0, 25, 50, 75, 100] as const;

const COLUMNS: readonly Column[] = [{ text: 'Scan' }, { text: 'Score', numeric: true }, { text: 'Violations', numeric: true }];
/** Only if a scan was compared with its baseline. */
const DIFFERENCE_COLUMNS: readonly Column[] = [
  { text: 'New', numeric: true },
  { text: 'Fixed', numeric: true },
];

/** @param points oldest first. @param current the scan of the page */
export function trendChart(points: readonly TrendPoint[], current: string): Html {
  if (points.length < 2) return NOTHING;
  const isCompared = points.some(({ difference }) => difference !== null);
  return html`<section class="card" aria-labelledby="trend-title">
    <h2 id="trend-title">Trend of this address</h2>
    ${chartFrame({
      caption: `Score of the last ${points.length} scans that are done`,
      svg: drawing(points, current),
      tableSummary: 'Scores as a table',
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
    })}
  </section>`;
}

const shownOr = (value: number | undefined): string => (value === undefined ? '–' : number(value));

/** Scans stand at equal distances, because several may run within minutes and then none for weeks. */
function drawing(points: readonly TrendPoint[], current: string): Html {
  const x = (at: number): number => round(LEFT + ((WIDTH - LEFT - RIGHT) * at) / (points.length - 1));
  const y = (score: number): number => round(TOP + ((HEIGHT - TOP - BOTTOM) * (100 - score)) / 100);
  const [first, last] = [points[0]!, points.at(-1)!];
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${describe(points)}">
    ${GRID.map(
      (score) =>
        html`<line class="chart-grid"${attributes({ x1: LEFT, x2: WIDTH - RIGHT, y1: y(score), y2: y(score) })}></line>
          <text class="chart-text"${attributes({ x: LEFT - 8, y: y(score) + 4, 'text-anchor': 'end' })}>${score}</text>`,
    )}
    <text class="chart-text"${attributes({ x: LEFT, y: HEIGHT - 10 })}>${day(first.at)}</text>
    <text class="chart-text"${attributes({ x: WIDTH - RIGHT, y: HEIGHT - 10, 'text-anchor': 'end' })}>${day(last.at)}</text>
    <polyline class="chart-line"${attributes({ points: points.map(({ score }, at) => `${x(at)},${y(score)}`).join(' ') })}></polyline>
    ${points.map(
      ({ id, score }, at) =>
        html`<circle${attributes({ class: 'chart-point', cx: x(at), cy: y(score), r: id === current ? 7 : 4 })}></circle>`,
    )}
  </svg>`;
}

const round = (value: number): number => Math.round(value * 10) / 10;
const day = (at: Date): string => at.toISOString().slice(0, 10);

function describe(points: readonly TrendPoint[]): string {
  const [first, last] = [points[0]!, points.at(-1)!];
  const scores = points.map(({ score }) => score);
  const range = `The lowest was ${number(Math.min(...scores))}, the highest ${number(Math.max(...scores))}.`;
  return `Line chart of ${points.length} scores, from ${number(first.score)} on ${date(first.at)} to ${number(last.score)} on ${date(last.at)}. ${range}`;
}
