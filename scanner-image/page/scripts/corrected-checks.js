/** Runs in the isolated world after axe-core. Corrects checks of axe-core, and decides what it leaves to a person. */

/*
 * Counts the lines of a text for the check `important-line-height`, which is for texts of more than one line. axe-core takes lines
 * that overlap for one line, and lines overlap where their height is small (docs/contributing/dependencies.md, "A fault of axe-core").
 */

const LINE_HEIGHT = 'important-line-height';
/** Differences that are no line, in CSS pixels. */
const MARGIN = 2;
/** Rectangles that axe-core counts as two lines. */
const TWO_LINES = [0, 100].map((top) => ({ top, bottom: top + 10, height: 10 }));
const { createRange } = Document.prototype;
const { getClientRects } = Range.prototype;

/** The rectangles of the texts that flow in the lines of an element. Texts in boxes of their own, such as floats, do not. */
function* flowingRects(element) {
  for (const child of element.childNodes) {
    if (child instanceof Text) {
      const range = createRange.call(document);
      range.selectNodeContents(child);
      yield* getClientRects.call(range);
    } else if (child instanceof Element && getComputedStyle(child).display === 'inline') yield* flowingRects(child);
  }
}

/** A new line begins further down, and before the end of the rectangle before it. A subscript begins at that end. */
function hasLines(element) {
  const isRightToLeft = getComputedStyle(element).direction === 'rtl';
  let last = null;
  for (const rect of flowingRects(element)) {
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

const { evaluate: evaluateLineHeight } = axe._audit.checks[LINE_HEIGHT];
axe.configure({
  checks: [
    {
      id: LINE_HEIGHT,
      evaluate(node, ...more) {
        if (node.style.getPropertyPriority('line-height') !== 'important') return evaluateLineHeight.call(this, node, ...more);
        document.createRange = countingRange;
        try {
          return evaluateLineHeight.call(this, node, ...more);
        } finally {
          delete document.createRange;
        }
      },
    },
  ],
});

/** Keeps a rule from elements. */
function leaveOut(rule, isLeftOut) {
  const { matches } = axe._audit.rules.find(({ id }) => id === rule);
  axe.configure({ rules: [{ id: rule, matches: (node, ...more) => !isLeftOut(node) && matches(node, ...more) }] });
}

/*
 * A part of the page that scrolls needs a place in the focus order, which axe-core demands itself (`scrollable-region-focusable`).
 * So the rule about roles in the focus order does not advise against it.
 */
leaveOut('focus-order-semantics', (node) => {
  const { overflowX, overflowY } = getComputedStyle(node);
  return /auto|scroll/.test(`${overflowX} ${overflowY}`);
});

// A link that the browser never displays, such as the fallback in a video, has no colour, and axe-core gives up the rule for the page.
leaveOut('link-in-text-block', (node) => getComputedStyle(node).color === '');

/*
 * Decides contrast on a gradient where axe-core leaves it to a person, and only that a text fails
 * everywhere.
 *
 * Between two opaque stops, each channel of the gradient is between those of the stops, and luminance rises with each channel. So
 * the luminance is between those of two colours: one of the smaller channels of both stops, and one of the larger ones. (It need not
 * be between those of the stops: half way from red to green it is below both.) The contrast with a text falls towards the luminance
 * of the text and rises beyond it, so it is largest at one of the two colours. If both are too little, it is too little everywhere.
 */

const CONTRAST = 'color-contrast';
const { Color, getBackgroundStack, getContrast, incompleteData } = axe.commons.color;
const RGB = /rgb\((\d+), (\d+), (\d+)\)/g;
/** What mixes the colours of a text and its background with others, and its value where it does not. */
const EFFECTS = Object.entries({
  opacity: '1',
  'mix-blend-mode': 'normal',
  filter: 'none',
  'backdrop-filter': 'none',
  'mask-image': 'none',
  'clip-path': 'none',
});

const hasEffects = (style) => EFFECTS.some(([name, none]) => ![none, ''].includes(style.getPropertyValue(name)));

/** An opaque colour of sRGB; null for any other one. */
function colourOf(text) {
  const [match] = text.matchAll(RGB);
  return match?.[0] === text ? new Color(...match.slice(1).map(Number)) : null;
}

/** The stops of a background that is a single gradient of opaque colours in sRGB; null for any other one. */
function stopsOf(image) {
  // Other colours, other colour spaces of the interpolation (`in oklch`), and other images leave something that is refused here.
  const rest = image.replace(RGB, '');
  if (!/^(repeating-)?(linear|radial|conic)-gradient\([^()]*\)$/.test(rest) || /\bin\b/.test(rest)) return null;
  const stops = [...image.matchAll(RGB)].map(([text]) => colourOf(text));
  return stops.length < 2 ? null : stops;
}

/** Whether a gradient covers the whole box of its element. */
function covers(style) {
  const { backgroundSize: size, backgroundPosition: position } = style;
  const isPercent = (text, least, most) =>
    text.split(' ').every((part) => /^(0px|[\d.]+%)$/.test(part) && parseFloat(part) >= least && parseFloat(part) <= most);
  return (
    (['auto', 'cover', 'contain'].includes(size) || isPercent(size, 100, Infinity)) &&
    isPercent(position, 0, 100) &&
    style.backgroundOrigin !== 'content-box' &&
    ['border-box', 'padding-box'].includes(style.backgroundClip) &&
    style.backgroundAttachment === 'scroll' &&
    style.backgroundBlendMode === 'normal' &&
    !style.boxShadow.includes('inset')
  );
}

/** The rectangles of an element's own texts; of a field, whose text is not in the document, its box. */
function textRects(node) {
  const range = document.createRange();
  const rects = [...node.childNodes].flatMap((child) => {
    if (!(child instanceof Text)) return [];
    range.selectNodeContents(child);
    return [...range.getClientRects()];
  });
  return rects.length === 0 ? [node.getBoundingClientRect()] : rects;
}

/** Whether all texts of an element are within another one. axe-core passes over texts that are beyond their own element. */
function contains(painter, node) {
  const box = painter.getBoundingClientRect();
  return textRects(node).every(
    ({ top, right, bottom, left }) => top >= box.top && right <= box.right && bottom <= box.bottom && left >= box.left,
  );
}

/** Whether nothing but the background of `painter` adds to the colours behind the text of an element. */
function isPlain(node, painter) {
  for (const element of [node, painter])
    for (let at = axe.utils.getNodeFromTree(element); at; at = at.parent)
      if (at.actualNode instanceof Element && hasEffects(getComputedStyle(at.actualNode))) return false;
  return true;
}

/** The stops of the gradient on which an element's text is, alone; null if anything else may be behind it. */
function stopsBehind(node) {
  const between = [];
  for (const element of getBackgroundStack(node) ?? []) {
    const style = getComputedStyle(element);
    if (style.backgroundImage !== 'none') {
      const stops = stopsOf(style.backgroundImage);
      const isAlone = stops !== null && covers(style) && contains(element, node) && isPlain(node, element) && !between.some(hasEffects);
      return isAlone ? stops : null;
    }
    if (style.backgroundColor !== 'rgba(0, 0, 0, 0)') return null;
    between.push(style);
  }
  return null;
}

const bound = (one, other, choose) => new Color(...['red', 'green', 'blue'].map((channel) => choose(one[channel], other[channel])));

/** Whether a text has less contrast than required with every colour of a gradient. */
const failsEverywhere = (text, stops, required) =>
  stops.slice(1).every((stop, at) => [Math.min, Math.max].every((choose) => getContrast(bound(stops[at], stop, choose), text) < required));

/** The data of a contrast that fails everywhere, with the stop where it is best; null if it may be enough somewhere. */
function failureOf(node, data) {
  const style = getComputedStyle(node);
  const text = colourOf(style.webkitTextFillColor);
  const required = parseFloat(data.expectedContrastRatio);
  if (text === null || style.textShadow !== 'none' || parseFloat(style.webkitTextStrokeWidth) > 0) return null;
  const stops = stopsBehind(node);
  if (stops === null || !failsEverywhere(text, stops, required)) return null;
  const best = stops.reduce((one, other) => (getContrast(other, text) > getContrast(one, text) ? other : one));
  const ratio = Math.floor(getContrast(best, text) * 100) / 100;
  // A text that nobody can see may be hidden on purpose: axe-core leaves it to a person too.
  if (ratio === 1) return null;
  return { ...data, fgColor: text.toHexString(), bgColor: best.toHexString(), contrastRatio: ratio, messageKey: undefined };
}

const { evaluate: evaluateContrast } = axe._audit.checks[CONTRAST];
axe.configure({
  checks: [
    {
      id: CONTRAST,
      evaluate(node, ...more) {
        let data;
        const remember = (value) => {
          data = value;
          this.data(value);
        };
        const result = evaluateContrast.call({ ...this, data: remember }, node, ...more);
        if (result !== undefined || data?.messageKey !== 'bgGradient') return result;
        const failure = failureOf(node, data);
        // As axe-core does after each undecided element.
        incompleteData.clear();
        if (failure === null) return result;
        this.data(failure);
        return false;
      },
    },
  ],
});
