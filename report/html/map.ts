/** The map of a page: where its findings are, as numbered marks that lead to their list. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import type { Box, PageSize } from '../schema/page.ts';
import { wordsIn } from '../words/words.ts';
import { heading, type HeadingLevel } from './elements.ts';
import { attributes, html, type Html, NOTHING } from './html.ts';

/** The width of the drawing, in its units, which are CSS pixels on a wide screen. */
const WIDTH = 320;
/** The height at which the map of a very long page ends. */
const HEIGHT_MAX = 6_000;
/** The height from which the map scrolls on most screens, as the rule for its size in site.css says. */
const LONG = 500;
/** The smallest side of a mark, so that it can be seen and hit. */
const SIDE_MIN = 4;
const LABEL_HEIGHT = 16;

/** A finding with the places of its elements. */
export interface Mark {
  /** What the map and the list call it. */
  label: string;
  title: string;
  href: string;
  /** A violation, or an element that a person must check. */
  kind: 'violation' | 'review';
  /** Null: the element is not displayed. */
  boxes: readonly (Box | null)[];
}

export interface PageMap {
  size: PageSize;
  marks: readonly Mark[];
  /** A picture of the page, as wide as the page. Null: there is none, and marks on an empty area would show nothing. */
  picture: { src: string; width: number; height: number } | null;
  locale?: Locale;
  level?: HeadingLevel;
  /** The id of its heading, and those that name it if there are several maps. */
  id?: string;
  labelledBy?: string;
}

/** The map, with what it does not show. */
export function pageMap({ size, marks, picture, locale = currentLocale(), level = 2, id = 'map-title', labelledBy = id }: PageMap): Html {
  const { texts, count } = wordsIn(locale, 'findings');
  if (picture === null) return html`<p>${texts.noMap}</p>`;
  const scale = WIDTH / size.width;
  const height = Math.min(Math.max(Math.ceil(size.height * scale), LABEL_HEIGHT), HEIGHT_MAX);
  const isTaken = new Map<string, string>();
  const drawn = marks.map((mark) => drawingOf(mark, { scale, height, isTaken, locale }));
  const isDrawn = drawn.some(({ places }) => places > 0);
  const missing = marks.flatMap(({ boxes }) => boxes).length - drawn.reduce((sum, { places }) => sum + places, 0);
  return html`<section class="card page-map" aria-labelledby="${labelledBy}">
    ${heading(level, { id }, texts.map)}
    <p>
      ${texts.mapIntro} ${isDrawn && height > LONG && html`<span class="map-scrolls">${texts.mapScrolls}</span>`}
      ${marks.some(({ kind }) => kind === 'review') && texts.mapReview}
      ${missing > 0 && count(texts.mapMissing, missing)}
    </p>
    ${
      isDrawn &&
      html`<div class="page-map-drawing">
        <svg viewBox="0 0 ${WIDTH} ${height}" role="group" aria-label="${texts.map}">
          <rect class="map-page" width="${WIDTH}" height="${height}"></rect>
          <image${attributes({ href: picture.src, width: WIDTH, height: round((picture.height * WIDTH) / picture.width) })}></image>
          ${drawn.map(({ drawing }) => drawing)}
        </svg>
      </div>`
    }
  </section>`;
}

/** Where an element is, for those who cannot see the map. @param state the label of the state in which it was found */
export function placeText(box: Box | null, locale: Locale = currentLocale(), state?: string): string {
  const { texts, format } = wordsIn(locale, 'findings');
  if (box === null) return state ?? texts.notDisplayed;
  return `${state === undefined ? '' : `${state}: `}${format(texts.place, { ...box })}`;
}

interface Drawing {
  scale: number;
  height: number;
  /** Which label is in which cell of the drawing. */
  isTaken: Map<string, string>;
  locale: Locale;
}

/** The marks of a finding as one link, so that the keyboard reaches each finding once. */
function drawingOf({ label, title, href, kind, boxes }: Mark, area: Drawing): { drawing: Html; places: number } {
  const rects = boxes.flatMap((box) => (box ? (rectOf(box, area) ?? []) : []));
  if (rects.length === 0) return { drawing: NOTHING, places: 0 };
  const { texts, count } = wordsIn(area.locale, 'findings');
  const labels = rects.flatMap((rect) => labelAt(rect, label, area) ?? []);
  const drawing = html`<a${attributes({ href, class: `map-mark map-${kind}`, 'aria-label': `${label}: ${title}, ${count(texts.places, rects.length)}` })}>
    ${rects.map((rect) => html`<rect class="map-halo"${attributes({ ...rect })}></rect><rect class="map-box"${attributes({ ...rect })}></rect>`)}
    ${labels.map(({ x, y, width }) => html`<rect class="map-label"${attributes({ x, y, width, height: LABEL_HEIGHT, rx: 3 })}></rect><text${attributes({ class: 'map-number', x: x + width / 2, y: y + 12, 'text-anchor': 'middle' })}>${label}</text>`)}
  </a>`;
  return { drawing, places: rects.length };
}

interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A box in the drawing; null if it is outside. */
function rectOf(box: Box, { scale, height: end }: Drawing): Rect | null {
  const [left, top] = [Math.max(0, box.x * scale), Math.max(0, box.y * scale)];
  const [right, bottom] = [Math.min(WIDTH, (box.x + box.width) * scale), Math.min(end, (box.y + box.height) * scale)];
  if (right <= left || bottom <= top) return null;
  const [width, height] = [Math.max(SIDE_MIN, right - left), Math.max(SIDE_MIN, bottom - top)];
  return { x: round(Math.min(left, WIDTH - width)), y: round(Math.min(top, end - height)), width: round(width), height: round(height) };
}

/**
 * Where the number of a mark is written: at its top left, or to the right of other numbers. Null: the same number is there already,
 * as in a list of links that fail for the same reason.
 */
function labelAt(rect: Rect, label: string, { height, isTaken }: Drawing): { x: number; y: number; width: number } | null {
  const width = 8 + 7 * label.length;
  const y = round(Math.min(Math.max(0, rect.y - LABEL_HEIGHT / 2), height - LABEL_HEIGHT));
  const row = Math.floor(y / LABEL_HEIGHT);
  const cellOf = (x: number): string => `${row} ${Math.floor(x / LABEL_HEIGHT)}`;
  let x = Math.min(rect.x, WIDTH - width);
  while (isTaken.has(cellOf(x)) && isTaken.get(cellOf(x)) !== label && x + 2 * width <= WIDTH) x += width;
  if (isTaken.get(cellOf(x)) === label) return null;
  isTaken.set(cellOf(x), label);
  return { x: round(x), y, width };
}

const round = (value: number): number => Math.round(value * 10) / 10;
