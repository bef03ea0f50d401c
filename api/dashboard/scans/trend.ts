/** Score and violations of the scans of one address over time: as two lines beside each other, and in a table. Pure. */
import { chartFrame, type Column, foldedCard, link, table, time } from '../../web/components.ts';
import { attributes, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { date, number } from './words.ts';
import { t } from '../../web/texts.ts';

const columns = (): Column[] => [{ text: t`Scan` }, { text: t`Score`, numeric: true }, { text: t`Violations`, numeric: true }];
/** Only if a scan was compared with its baseline. */
const differenceColumns = (): Column[] => [
  { text: t`New`, numeric: true },
  { text: t`Fixed`, numeric: true },
];

/** @param points oldest first. @param options.current the scan of the page */
export function trendChart(points: readonly TrendPoint[], options: { current?: string; open?: boolean } = {}): Html {
  if (points.length < 2) return NOTHING;
  const { current, open } = options;
  const isCompared = points.some(({ difference }) => difference !== null);
  const scores = gridOf(points.map(({ score }) => score));
  return foldedCard({
    id: 'trend-card',
    title: t`Trend of this address`,
    open,
    body: chartFrame({
      caption: t`The last ${points.length} scans with the same options`,
      svg: html`<div class="columns">
        <div><p>${scores[0]! > 0 ? t`Score. The axis begins at ${scores[0]!}, not at 0` : t`Score`}</p>${drawing(points, 'score', scores, current)}</div>
        <div><p>${t`Violations`}</p>${drawing(points, 'violations', gridFromZero(points.map(({ violations }) => violations)), current)}</div>
      </div>`,
      tableSummary: t`All numbers as a table`,
      table: table({
        id: 'trend',
        caption: t`Scores, newest first`,
        columns: [...columns(), ...(isCompared ? differenceColumns() : [])],
        rows: points
          .toReversed()
          .map(({ id, at, score, violations, difference }) => [
            id === current ? t`${time(at)} (this scan)` : link(time(at), `/dashboard/scans/${id}`),
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
const [WIDTH, HEIGHT] = [360, 170];
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 10, 10, 30];

const INTERVALS_MAX = 4;
/** The distances between grid lines of scores. Not below 2.5 points, so that what hardly changed looks so. */
const STEPS = [2.5, 5, 10, 20, 25] as const;

/** The grid lines of the scores, from the lowest up. They begin and end near the scores, so that changes can be seen. */
export function gridOf(scores: readonly number[]): number[] {
  const [min, max] = [Math.min(...scores), Math.max(...scores)];
  for (const step of STEPS) {
    let [low, high] = [Math.floor(min / step), Math.ceil(max / step)];
    // One score: lines above and below it, within what a score can be.
    if (low === high) [low, high] = [Math.max(0, low - 1), Math.min(100 / step, high + 1)];
    if (high - low <= INTERVALS_MAX) return Array.from({ length: high - low + 1 }, (_, line) => (low + line) * step);
  }
  throw new RangeError('scores are from 0 to 100');
}

/** The grid lines of counts. */
export function gridFromZero(counts: readonly number[]): number[] {
  const most = Math.max(1, ...counts);
  const magnitude = 10 ** Math.floor(Math.log10(most));
  const step = [0.5, 1, 2, 5].map((part) => Math.max(1, part * magnitude)).find((one) => most / one <= INTERVALS_MAX)!;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, line) => line * step);
}

/** One line, with its grid. @param current the scan of the page */
function drawing(points: readonly TrendPoint[], of: 'score' | 'violations', grid: readonly number[], current?: string): Html {
  const [low, high] = [grid[0]!, grid.at(-1)!];
  const y = (value: number): number => round(TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / (high - low));
  const places = points.map(
    (point, index) => [round(LEFT + ((WIDTH - LEFT - RIGHT) * (index + 0.5)) / points.length), y(point[of])] as const,
  );
  const [x, at] = places[points.findIndex(({ id }) => id === current)] ?? [];
  const [first, last] = timesOf(points);
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${describe(points, of)}">
    <path class="chart-grid"${attributes({ d: grid.map((value) => `M${LEFT},${y(value)}H${WIDTH - RIGHT}`).join('') })}></path>
    ${grid.map((value) => textAt(LEFT - 6, y(value) + 4, number(value)))}
    ${textAt(LEFT, HEIGHT - 8, first, 'start')} ${textAt(WIDTH - RIGHT, HEIGHT - 8, last)}
    <polyline class="chart-line"${attributes({ points: places.join(' ') })}></polyline>
    <path class="chart-dots"${attributes({ d: places.map((place) => `M${place.join()}h0`).join('') })}></path>
    ${x !== undefined && html`<circle class="chart-point"${attributes({ cx: x, cy: at, r: 5 })}></circle>`}
  </svg>`;
}

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

function describe(points: readonly TrendPoint[], of: 'score' | 'violations'): string {
  const [first, last] = [points[0]!, points.at(-1)!];
  const values = points.map((point) => point[of]);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const [from, to] = [date(first.at), date(last.at)];
  return of === 'score'
    ? t`Line chart of the score of ${points.length} scans, from ${first.score} on ${from} to ${last.score} on ${to}.
        The lowest was ${lowest}, the highest ${highest}.`
    : t`Line chart of the violations of ${points.length} scans, from ${first.violations} on ${from} to ${last.violations} on ${to}.
        The lowest was ${lowest}, the highest ${highest}.`;
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
  const text = t`${label} of the last ${values.length} scans: from ${first} to ${last}, lowest ${lowest}, highest ${highest}`;
  return html`<svg class="sparkline" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${text}">
    <polyline class="chart-line"${attributes({ points: points.map((point) => point.join()).join(' ') })}></polyline>
    <circle class="chart-dot"${attributes({ cx: x, cy: y, r: 3 })}></circle>
  </svg>`;
}
