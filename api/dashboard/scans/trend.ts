/** The scores of the scans of one address over time: as a line, with new and fixed violations as bars, and in a table. Pure. */
import { chartFrame, type Column, foldedCard, link, table, time } from '../../web/components.ts';
import { attributes, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { date, number } from './words.ts';

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

/** A scan that is done. */
export interface TrendPoint {
  id: string;
  at: Date;
  score: number;
  violations: number;
  /** Compared with its baseline. Null: it was not compared. */
  difference: { new: number; fixed: number } | null;
}

/** Scans stand at equal distances, because several may run within minutes and then none for weeks. */
const WIDTH = 360;
const LEFT = 44;
const RIGHT = 10;
const at = (index: number, points: readonly TrendPoint[]): number => round(LEFT + ((WIDTH - LEFT - RIGHT) * (index + 0.5)) / points.length);

const SCORES = { height: 170, top: 10, bottom: 30 } as const;
const CHANGES = { height: 110, top: 10, bottom: 10 } as const;
/** The widest bar, in units of the drawing. */
const BAR_MAX = 18;

/** The distances between grid lines, in tenths: scores have one decimal. The smallest that gives at most this many intervals is taken. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 250] as const;
const INTERVALS_MAX = 4;

/** The grid lines of the scores, from the lowest up. They begin and end near the scores, so that small changes can be seen. */
export function gridOf(scores: readonly number[]): number[] {
  const tenths = scores.map((score) => Math.round(score * 10));
  const [min, max] = [Math.min(...tenths), Math.max(...tenths)];
  for (const step of STEPS) {
    let [low, high] = [Math.floor(min / step), Math.ceil(max / step)];
    // One score: lines above and below it, within what a score can be.
    if (low === high) [low, high] = [Math.max(0, low - 1), Math.min(1000 / step, high + 1)];
    if (high - low <= INTERVALS_MAX) return Array.from({ length: high - low + 1 }, (_, line) => ((low + line) * step) / 10);
  }
  throw new RangeError('scores are from 0 to 100');
}

/** @param current the scan of the page */
function scoreDrawing(points: readonly TrendPoint[], current: string): Html {
  const scores = points.map(({ score }) => score);
  const grid = gridOf(scores);
  const [low, high] = [grid[0]!, grid.at(-1)!];
  const { height, top, bottom } = SCORES;
  const y = (score: number): number => round(top + ((height - top - bottom) * (high - score)) / (high - low));
  const [first, last] = timesOf(points);
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${describeScores(points)}">
    ${grid.map((score) => html`${line(y(score))}${textAt(LEFT - 6, y(score) + 4, number(score))}`)}
    ${textAt(LEFT, height - 8, first, 'start')} ${textAt(WIDTH - RIGHT, height - 8, last)}
    <polyline class="chart-line"${attributes({ points: scores.map((score, index) => `${at(index, points)},${y(score)}`).join(' ') })}></polyline>
    ${points.map(
      ({ id, score }, index) =>
        html`<circle${attributes({ class: 'chart-point', cx: at(index, points), cy: y(score), r: id === current ? 5 : 3 })}></circle>`,
    )}
  </svg>`;
}

/** Bars up for new violations and down for fixed ones, below the scores of the same scans. */
function changeDrawing(points: readonly TrendPoint[]): Html {
  const { height, top, bottom } = CHANGES;
  const middle = height / 2;
  const most = Math.max(1, ...points.flatMap(({ difference }) => [difference?.new ?? 0, difference?.fixed ?? 0]));
  const size = (violations: number): number => round(((height - top - bottom) / 2) * (violations / most));
  const width = round(Math.min(BAR_MAX, ((WIDTH - LEFT - RIGHT) / points.length) * 0.6));
  const bar = (index: number, kind: 'new' | 'fixed', violations: number): Html | false =>
    violations > 0 &&
    html`<rect${attributes({
      class: `chart-bar chart-${kind}`,
      x: round(at(index, points) - width / 2),
      y: kind === 'new' ? round(middle - size(violations)) : middle,
      width,
      height: size(violations),
    })}></rect>`;
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${describeChanges(points)}">
    ${textAt(LEFT - 6, top + 8, number(most))} ${textAt(LEFT - 6, middle + 4, '0')} ${textAt(LEFT - 6, height - bottom, number(most))}
    ${points.map(({ difference }, index) => difference && html`${bar(index, 'new', difference.new)}${bar(index, 'fixed', difference.fixed)}`)}
    ${line(middle)}
  </svg>`;
}

const line = (y: number): Html => html`<line class="chart-grid"${attributes({ x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y })}></line>`;
const textAt = (x: number, y: number, text: string, anchor: 'start' | 'end' = 'end'): Html =>
  html`<text class="chart-text"${attributes({ x, y, 'text-anchor': anchor })}>${text}</text>`;
const round = (value: number): number => Math.round(value * 10) / 10;

/** When the first and the last scan ran (UTC): the dates if they differ, else the times. */
export function timesOf(points: readonly Pick<TrendPoint, 'at'>[]): [string, string] {
  const [first, last] = [points[0]!, points.at(-1)!].map((point) => point.at.toISOString().replace('T', ' '));
  const [start, end] = [
    [0, 10],
    [5, 16],
    [5, 19],
  ].find(([from, to]) => first!.slice(from, to) !== last!.slice(from, to)) ?? [5, 23];
  return [first!.slice(start, end), last!.slice(start, end)];
}

function describeScores(points: readonly TrendPoint[]): string {
  const [first, last] = [points[0]!, points.at(-1)!];
  const scores = points.map(({ score }) => score);
  const range = `The lowest was ${number(Math.min(...scores))}, the highest ${number(Math.max(...scores))}.`;
  return `Line chart of ${points.length} scores, from ${number(first.score)} on ${date(first.at)} to ${number(last.score)} on ${date(last.at)}. ${range}`;
}

function describeChanges(points: readonly TrendPoint[]): string {
  const compared = points.flatMap(({ difference }) => (difference === null ? [] : [difference]));
  const sum = (kind: 'new' | 'fixed'): string => number(compared.reduce((all, difference) => all + difference[kind], 0));
  return `Bar chart of ${number(compared.length)} scans that were compared with a baseline: ${sum('new')} new and ${sum('fixed')} fixed violations in all.`;
}

const SPARK = { width: 96, height: 24, margin: 3 } as const;

/**
 * A small line without axes, for a cell of a table. Screen readers get its values in words.
 * @param span the smallest range that the height of the drawing stands for
 */
export function sparkline(label: string, values: readonly number[], span = 1): Html {
  if (values.length < 2) return NOTHING;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const range = Math.max(span, high - low);
  const { width, height, margin } = SPARK;
  // In the middle of the range, so that what does not change is a line through the middle.
  const top = (low + high + range) / 2;
  const points = values.map((value, index) => [
    round(margin + ((width - 2 * margin) * index) / (values.length - 1)),
    round(margin + ((height - 2 * margin) * (top - value)) / range),
  ]);
  const [x, y] = points.at(-1)!;
  const [first, last, lowest, highest] = [values[0]!, values.at(-1)!, low, high].map((value) => number(value));
  const text = `${label} of the last ${values.length} scans: from ${first} to ${last}, lowest ${lowest}, highest ${highest}`;
  return html`<svg class="sparkline" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${text}">
    <polyline class="chart-line"${attributes({ points: points.map((point) => point.join()).join(' ') })}></polyline>
    <circle class="chart-dot"${attributes({ cx: x, cy: y, r: 3 })}></circle>
  </svg>`;
}
