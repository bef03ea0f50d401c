/**
 * Runs in our world after visible.js. Measures the boxes of elements. Methods are taken from the prototypes for the same reason as
 * in visible.js.
 */

const MAX = globalThis.curbcutLimits.position;
const { boxOf } = globalThis.curbcutSeen;

const meet = (a, b) => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});

const shifted = ({ left, top, right, bottom }, x, y) => ({ left: left + x, top: top + y, right: right + x, bottom: bottom + y });

/** The box of an element in its viewport. That of an inline element contains its content: the box of a link does not contain its picture. */
function wholeBox(element) {
  if (getComputedStyle(element).display !== 'inline') return boxOf(element);
  const range = document.createRange();
  range.selectNodeContents(element);
  const boxes = [boxOf(element), range.getBoundingClientRect()].filter(({ width, height }) => width > 0 && height > 0);
  if (boxes.length === 0) return boxOf(element);
  return {
    left: Math.min(...boxes.map(({ left }) => left)),
    top: Math.min(...boxes.map(({ top }) => top)),
    right: Math.max(...boxes.map(({ right }) => right)),
    bottom: Math.max(...boxes.map(({ bottom }) => bottom)),
  };
}

/** The viewport of a frame, in the viewport of its document. Its left and top edges are the origin of boxes in the frame. */
function viewOf(frame) {
  const { left, top, right, bottom } = boxOf(frame);
  const { paddingLeft, paddingTop } = getComputedStyle(frame);
  return { left: left + frame.clientLeft + parseFloat(paddingLeft), top: top + frame.clientTop + parseFloat(paddingTop), right, bottom };
}

/**
 * Where a document is displayed in the page, in CSS pixels of the page's document: the origin of its viewport, and the part of it
 * that the frames around it show. Null: it is the page's own document.
 */
let place = null;

/** A box of this document's viewport in the page's document. */
const onPage = (box) => (place === null ? shifted(box, scrollX, scrollY) : meet(shifted(box, place.x, place.y), place.shown));

const bounded = (value) => Math.round(Math.min(Math.max(value, -MAX), MAX));

globalThis.curbcutBoxes = {
  meet,
  shifted,
  wholeBox,
  viewOf,
  /** Sets the place of this document; null for the page itself. */
  setPlace: (given) => void (place = given),
  /** The place of the document of a frame. */
  placeOf(frame) {
    const view = viewOf(frame);
    const { left, top } = place === null ? shifted(view, scrollX, scrollY) : shifted(view, place.x, place.y);
    return { x: left, y: top, shown: onPage(view) };
  },
  /** The box of an element in the page, in CSS pixels; null if it has none, or if the frames around it do not show it. */
  boxOnPage(element) {
    const { left, top, right, bottom } = onPage(wholeBox(element));
    if (!(right > left && bottom > top)) return null;
    const [x, y] = [bounded(left), bounded(top)];
    return { x, y, width: Math.max(1, bounded(right - left)), height: Math.max(1, bounded(bottom - top)) };
  },
};
