/** Runs in the isolated world after axe-core. What the states of a page need to know of it. */

const SCHEME = 'prefers-color-scheme';
/** More rules are not searched. */
const RULES_MAX = 50_000;

/** Whether the document has styles for a dark colour scheme, as far as its style sheets can be read. */
function hasDark() {
  const meta = document.querySelector('meta[name="color-scheme" i]')?.getAttribute('content') ?? '';
  if (/\bdark\b/i.test(meta)) return true;
  let left = RULES_MAX;
  const inRules = (rules) => {
    for (const rule of rules) {
      if (left-- <= 0) return false;
      if (rule.media?.mediaText.includes(SCHEME) || /\bdark\b/.test(rule.style?.getPropertyValue('color-scheme') ?? '')) return true;
      if (inSheet(rule.styleSheet) || (rule.cssRules?.length > 0 && inRules(rule.cssRules))) return true;
    }
    return false;
  };
  const inSheet = (sheet) => {
    if (!sheet || sheet.disabled) return false;
    if (sheet.media.mediaText.includes(SCHEME)) return true;
    try {
      return inRules(sheet.cssRules);
    } catch {
      return false; // of another origin: our program reads it
    }
  };
  return roots().some((root) => [...root.styleSheets, ...root.adoptedStyleSheets].some(inSheet));
}

// Text that boxes cut, and what is wider than the window. Positions are those of glyphs, without the leading of lines.

const { containerOf, contentOf, isElement, isSeen, nameOf, boxOf, roots, within } = globalThis.curbcutSeen;
const RULES = globalThis.curbcutOwnRules;
const styleOf = (element) => getComputedStyle(element);
/** The element in which a node is displayed. */
const outerOf = (node) => (containerOf(node) instanceof ShadowRoot ? containerOf(node).host : containerOf(node));
/** Whether an element matches a selector, or is displayed in one that does. */
const isIn = (element, selector) => within(element, (at) => Element.prototype.matches.call(at, selector));

/** WCAG 1.4.10 excepts what needs two dimensions for its use or meaning. */
const EXEMPT =
  'table, pre, code, canvas, svg, video, iframe, object, embed, math, img, [role="grid"], [role="table"], [role="toolbar"], [role="slider"], [role="application"], [role="img"]';
const CONTROLS = new Set(['button', 'input', 'select', 'textarea']);
/** They move what they cut. */
const MOVES =
  'marquee, [role="marquee"], [aria-roledescription], [class*="carousel" i], [class*="swiper" i], [class*="slick" i], [class*="slider" i]';
/** In CSS pixels. */
const TOLERANCE = 1;
const EXCUSED = 60;
const LEAST_CUT = 3;
const LEAST_MORE = 2;
/** A line of fewer words is no text to read. */
const WORDS = 4;
/** More elements are not reported. */
const FOUND_MAX = 50;

const wordsOf = ({ data }) => data.split(/\s+/).filter(Boolean).length;

/** What does not change while texts are measured, by element. */
let measured = { seen: new Map(), cutters: new Map() };
const begin = () => void (measured = { seen: new Map(), cutters: new Map() });

function isSeenNow(element) {
  const known = measured.seen.get(element) ?? isSeen(element);
  measured.seen.set(element, known);
  return known;
}

/** The boxes of the lines of each text that can be seen. */
function* linesOfTexts(root) {
  for (const node of contentOf(root)) {
    if (isElement(node) || !/\S/.test(node.data)) continue;
    const parent = outerOf(node);
    if (!isSeenNow(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
    if (lines.length > 0) yield { node, parent, lines };
  }
}

const cutsWith = (value) => value === 'hidden' || value === 'clip';
const scrollsWith = (value) => value === 'auto' || value === 'scroll';

/** The boxes around a text that cut what exceeds them, up to one that scrolls. Null: one shortens or moves it. */
function cuttersOf(at) {
  if (!isElement(at) || nameOf(at) === 'html' || nameOf(at) === 'body') return [];
  if (!measured.cutters.has(at)) measured.cutters.set(at, findCutters(at));
  return measured.cutters.get(at);
}

function findCutters(at) {
  const { overflowX, overflowY, display, position, textOverflow, webkitLineClamp } = styleOf(at);
  const sides = display === 'inline' || display === 'contents' ? [] : [overflowX, overflowY];
  const own = { box: boxOf(at), across: sides.length > 0 && cutsWith(overflowX), down: sides.length > 0 && cutsWith(overflowY) };
  const cuts = own.across || own.down;
  if (cuts && (textOverflow !== 'clip' || webkitLineClamp !== 'none' || isIn(at, MOVES))) return null;
  if (position === 'fixed' || sides.some(scrollsWith)) return cuts ? [own] : [];
  // Boxes between an element and the one by which it is placed do not cut it.
  const around = cuttersOf(position === 'absolute' ? at.offsetParent : outerOf(at));
  return cuts && around !== null ? [own, ...around] : around;
}

/** How many pixels of a text boxes around it cut. Null: it is elsewhere, shortened with an ellipsis, or moves. */
function cutOf({ parent, lines }) {
  const cutters = cuttersOf(parent);
  if (cutters === null) return null;
  let most = 0;
  for (const { box, across, down } of cutters) {
    if (!lines.some(({ left, right, top, bottom }) => right > box.left && left < box.right && bottom > box.top && top < box.bottom))
      return null;
    for (const { left, right, top, bottom } of lines) {
      if (across) most = Math.max(most, box.left - left, right - box.right);
      if (down) most = Math.max(most, box.top - top, bottom - box.bottom);
    }
  }
  return most;
}

/** How much is cut of the texts that are complete at rest, by their node. */
let cutsAtRest = new Map();

/** The parents of texts that are cut now and were complete at rest. */
function newlyCut(least) {
  const cut = [...linesOfTexts(document)].filter((text) => (cutOf(text) ?? 0) - (cutsAtRest.get(text.node) ?? Infinity) > least);
  return [...new Set(cut.map(({ parent }) => parent))];
}

/** How far a box exceeds the side of the window to which lines go. */
const beyond = ({ left, right }) => (styleOf(document.documentElement).direction === 'rtl' ? -left : right - innerWidth);
const isOutside = ({ left, right }) => left >= innerWidth || right <= 0;

/** Whether an element is as wide as a part of it that may be wide. */
function isExcused(element) {
  const own = beyond(boxOf(element));
  return [...element.querySelectorAll(EXEMPT)].some((part) => beyond(boxOf(part)) > TOLERANCE && own - beyond(boxOf(part)) < EXCUSED);
}

const exceeds = (box) => beyond(box) > TOLERANCE && !isOutside(box);

/** Whether what an element says or offers begins in the window and exceeds it. */
function isTooWide(element) {
  const isControl = (node) => isElement(node) && CONTROLS.has(nameOf(node)) && isSeen(node) && exceeds(boxOf(node));
  if (isControl(element) || [...contentOf(element)].some(isControl)) return true;
  return [...linesOfTexts(element)].some(({ parent, lines }) => !isIn(parent, EXEMPT) && lines.some(exceeds));
}

/** The outermost elements that make the document wider than the window, and texts that scroll to the side in a box. */
function tooWide() {
  const found = new Set();
  const excused = new Set();
  const isInOne = (node, elements) => within(node, (at) => elements.has(at));
  const { scrollWidth } = document.scrollingElement ?? document.documentElement;
  const isWide = scrollWidth > innerWidth + TOLERANCE;
  for (const node of isWide ? contentOf(document) : []) {
    if (!isElement(node) || ['html', 'head', 'body'].includes(nameOf(node)) || !exceeds(boxOf(node))) continue;
    if (isInOne(node, found) || isInOne(node, excused) || isIn(node, EXEMPT) || !isSeen(node) || clipperOf(node) !== null) continue;
    if (isExcused(node)) excused.add(node);
    else if (isTooWide(node)) found.add(node);
  }
  for (const { node, parent, lines } of linesOfTexts(document)) {
    if (isIn(parent, EXEMPT) || isInOne(parent, found)) continue;
    const clipper = clipperOf(parent);
    if (clipper === null) {
      // Such as a long word in a box that is not too wide.
      if (isWide && lines.some(exceeds) && !isInOne(parent, excused)) found.add(parent);
    } else if (wordsOf(node) >= WORDS * lines.length && !cutsWith(styleOf(clipper).overflowX) && !isIn(clipper, `${EXEMPT}, ${MOVES}`)) {
      if (lines.some(({ width }) => width > innerWidth + TOLERANCE)) found.add(parent);
    }
  }
  return [...found];
}

/** The nearest box around an element that does not show what exceeds its sides. */
function clipperOf(element) {
  for (let at = outerOf(element); isElement(at) && nameOf(at) !== 'body'; at = outerOf(at))
    if (styleOf(at).overflowX !== 'visible') return at;
  return null;
}

/** What was found last, as elements by their path. */
let found = new Map();

/** Findings as axe-core has them: violations, and what needs review. */
function resultsOf(violations, incomplete, total) {
  found = new Map();
  if ([...violations, ...incomplete].every(([, elements]) => elements.length === 0)) return '{"violations":[],"incomplete":[]}';
  axe.setup(document);
  try {
    const describe = ([id, elements]) => ({
      id,
      ...RULES[id],
      nodes: elements.slice(0, FOUND_MAX).map((element) => {
        const target = [axe.utils.getSelector(element)];
        found.set(target.flat().join(' >>> '), element);
        return { target, failureSummary: RULES[id].message, ...globalThis.curbcutDescribe.describe(element, total) };
      }),
    });
    globalThis.curbcutDescribe.begin(null);
    return JSON.stringify({ violations: violations.map(describe), incomplete: incomplete.map(describe) });
  } finally {
    axe.teardown();
  }
}

/** Where the elements that were found are now, as JSON. */
function foundBoxes() {
  globalThis.curbcutDescribe.begin(null);
  return JSON.stringify([...found].map(([path, element]) => [path, globalThis.curbcutDescribe.describe(element, 0).box]));
}

function styleSheet(css) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
}
const SPACING = styleSheet(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }
p { margin-block-end: 2em !important }`);
const CANVAS = styleSheet(':root { background-color: canvas }');

let adopted = [];
function adopt(sheet, into) {
  for (const root of into) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  adopted.push([sheet, into]);
}

const paints = (element) => styleOf(element).backgroundColor !== 'rgba(0, 0, 0, 0)' || styleOf(element).backgroundImage !== 'none';

/** Values of the elements that were found, by their path. */
const pathsOf = (valueOf) => Object.fromEntries([...found].map(([path, element]) => [path, valueOf(element)]));

globalThis.curbcutStates = { resultsOf, pathsOf };
globalThis.curbcut = {
  ...globalThis.curbcut,
  hasDark,
  rememberCuts() {
    begin();
    const cuts = [...linesOfTexts(document)].map((text) => [text.node, cutOf(text)]);
    cutsAtRest = new Map(cuts.filter(([, cut]) => cut !== null && cut <= TOLERANCE));
  },
  /** @param total limits the HTML of the results, in characters */
  reflow: (total) => begin() ?? resultsOf([['reflow', tooWide()]], [['text-cut', newlyCut(LEAST_CUT)]], total),
  space: () => adopt(SPACING, roots()),
  spacing: (total) => begin() ?? resultsOf([], [['text-spacing', newlyCut(LEAST_MORE)]], total),
  /** axe-core takes the canvas for white, which a dark colour scheme paints dark if the page does not paint it. */
  paintCanvas() {
    if (![document.documentElement, document.body].some((element) => element !== null && paints(element))) adopt(CANVAS, [document]);
  },
  /** Takes the style sheets of states away. */
  undress() {
    for (const [sheet, into] of adopted)
      for (const root of into) root.adoptedStyleSheets = root.adoptedStyleSheets.filter((one) => one !== sheet);
    adopted = [];
  },
  foundBoxes,
};
