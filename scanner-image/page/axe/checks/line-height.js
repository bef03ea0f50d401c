/**
 * Runs in our world after axe-core. Counts the lines of a text for axe-core's check `important-line-height`, which is for texts
 * of more than one line. axe-core takes lines that overlap for one line, and lines overlap where their height is small
 * (docs/contributing/dependencies.md, "A fault of axe-core").
 */

const CHECK = 'important-line-height';
/** Differences that are no line, in CSS pixels. */
const MARGIN = 2;
/** Rectangles that axe-core counts as two lines. */
const TWO_LINES = [0, 100].map((top) => ({ top, bottom: top + 10, height: 10 }));
const { createRange } = Document.prototype;
const { getClientRects } = Range.prototype;

/** The rectangles of the texts that flow in the lines of an element. Texts in boxes of their own, such as floats, do not. */
function* textRects(element) {
  for (const child of element.childNodes) {
    if (child instanceof Text) {
      const range = createRange.call(document);
      range.selectNodeContents(child);
      yield* getClientRects.call(range);
    } else if (child instanceof Element && getComputedStyle(child).display === 'inline') yield* textRects(child);
  }
}

/** A new line begins further down, and before the end of the rectangle before it. A subscript begins at that end. */
function hasLines(element) {
  const isRightToLeft = getComputedStyle(element).direction === 'rtl';
  let last = null;
  for (const rect of textRects(element)) {
    if (rect.width <= MARGIN || rect.height <= MARGIN) continue;
    const isBack = last !== null && (isRightToLeft ? rect.right > last.left + 1 : rect.left < last.right - 1);
    if (isBack && rect.top > last.top + MARGIN) return true;
    last = rect;
  }
  return false;
}

/** axe-core counts lines by the rectangles of a range over the element, and makes no other range over an element. */
function countingRange() {
  const range = createRange.call(document);
  range.getClientRects = () =>
    range.startContainer instanceof Element && hasLines(range.startContainer) ? TWO_LINES : getClientRects.call(range);
  return range;
}

const { evaluate } = axe._audit.checks[CHECK];
axe.configure({
  checks: [
    {
      id: CHECK,
      evaluate(node, ...more) {
        if (node.style.getPropertyPriority('line-height') !== 'important') return evaluate.call(this, node, ...more);
        document.createRange = countingRange;
        try {
          return evaluate.call(this, node, ...more);
        } finally {
          delete document.createRange;
        }
      },
    },
  ],
});
