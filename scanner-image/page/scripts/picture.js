/**
 * Runs in the isolated world after describe.js. Prepares the picture of an element, after the page was tested: scrolls to the element,
 * outlines it, and covers and hides what no picture may show. Covers alone would not do: a page may move its content away from them,
 * such as when it is resized. Methods are taken from the prototypes for the same reason as in visible.js.
 */

const { picture: LIMITS, wholePicture: WHOLE } = globalThis.curbcutLimits;
const { matches } = globalThis.curbcutDescribe;
const { nameOf, parentOf, typeOf, boxOf, queryIn, attributeOf, shadowRootOf } = globalThis.curbcutSeen;
const { meet, shifted, wholeBox, viewOf } = globalThis.curbcutBoxes;

/** Fields with secrets, also while the page shows them as text. */
const SECRET = [
  'input[type="password" i]',
  ...['current-password', 'new-password', 'one-time-code'].map((name) => `[autocomplete~="${name}" i]`),
  '[autocomplete*="cc-" i]',
].join(',');
/** Elements that paint their value or some of their attributes. Images do, if they do not load. */
const PAINTING = 'input, textarea, select, option, optgroup, img';
const PAINTED = ['placeholder', 'label', 'alt', 'title'];
/** Pseudo-elements whose content is text. */
const PARTS = ['::before', '::after', '::marker'];
const FRAMES = new Set(['iframe', 'frame', 'object', 'embed']);
/** Their text is never displayed. */
const UNSEEN_TEXT = new Set(['script', 'style', 'noscript', 'template', 'title']);

/** A box in the viewport of the page, cut by the viewports of the frames; `frames` from the innermost. */
const inPage = (box, frames) =>
  frames.reduce((inner, frame) => {
    const view = viewOf(frame);
    return meet(shifted(inner, view.left, view.top), view);
  }, box);

/**
 * Everything that no picture may show: secret fields, frames of other sites, and what displays one of `words`, also if elements divide
 * the text.
 * @returns elements to hide, with the boxes to cover. `part` is the pseudo-element that has the text, empty if the element itself has
 * it, and null for a field, a frame or a drawing.
 */
function secrets(words) {
  const found = [];
  const has = (text) => words.some((word) => String(text ?? '').includes(word));
  const search = (root, frames) => {
    const add = (element, part = null, boxes = [boxOf(element)]) =>
      found.push({ element, part, boxes: [...boxes].map((box) => inPage(box, frames)) });
    for (const field of queryIn(root, SECRET)) add(field);
    if (words.length > 0) addTexts(root, add, words, has);
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      for (const part of words.length === 0 ? [] : PARTS) if (has(stringOf(getComputedStyle(node, part).content))) add(node, part);
      const shadow = shadowRootOf(node);
      if (shadow !== null) search(shadow, frames);
      if (!FRAMES.has(nameOf(node))) continue;
      const inner = node.contentDocument ?? null;
      if (inner === null) add(node);
      else search(inner, [node, ...frames]);
    }
  };
  search(document, []);
  return found;
}

/** Adds what displays one of `words` in a tree, without its shadow trees. */
function addTexts(root, add, words, has) {
  for (const element of queryIn(root, PAINTING))
    if (has(element.value) || PAINTED.some((name) => has(attributeOf(element, name)))) add(selectOf(element) ?? element);
  let isDrawn = false;
  for (const node of textsWith(words, root)) {
    const element = elementOf(node);
    const select = selectOf(element);
    const range = document.createRange();
    range.selectNodeContents(node);
    if (select !== null) add(select);
    else add(element, '', range.getClientRects());
    isDrawn ||= Element.prototype.closest.call(element, 'svg') !== null;
  }
  // A copy of a drawing does not have the animations of what it copies.
  for (const copy of isDrawn ? queryIn(root, 'use') : []) add(copy);
}

/** A closed list paints the text of an option, also while the option is hidden. */
const selectOf = (element) => Element.prototype.closest.call(element, 'select');

/** The strings of a computed `content`, joined. */
const stringOf = (content) => [...content.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, string]) => string.replace(/\\(.)/gs, '$1')).join('');

/** The element whose style a text has: its slot, its parent, or the host of its shadow root. */
function elementOf(text) {
  const parent = text.assignedSlot ?? parentOf(text);
  return typeOf(parent) === Node.ELEMENT_NODE ? parent : parent.host;
}

/** The texts of a tree that have a part of one of `words` in their joined text. */
function textsWith(words, root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, (node) =>
    UNSEEN_TEXT.has(nameOf(elementOf(node))) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const texts = [];
  let joined = '';
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    texts.push({ node, start: joined.length });
    joined += node.data;
  }
  const marked = new Uint8Array(joined.length);
  for (const word of words)
    for (let at = joined.indexOf(word); at >= 0; at = joined.indexOf(word, at + 1)) marked.fill(1, at, at + word.length);
  return texts.filter(({ node, start }) => marked.subarray(start, start + node.data.length).includes(1)).map(({ node }) => node);
}

/** Animations that hide elements. They leave the attributes as they are, by which elements are found again. */
const hidden = new Map();
/** Longer than the budget of a page, in milliseconds. */
const HIDDEN_MS = 3_600_000;

/**
 * Hides secrets with all that is in them until `show`. Opacity has no effect on an element without a box (display: contents), but its
 * text has its visibility. Fields keep theirs, because a hidden one loses the focus, which the page notices.
 * @returns false if one is all of the page
 */
function hide(found) {
  for (const { element, part } of found) {
    if (nameOf(element) === 'body' || nameOf(element) === 'html') return false;
    if (hidden.has(element)) continue;
    const frames = { opacity: [0, 0], ...(part !== null && { visibility: ['hidden', 'hidden'] }) };
    hidden.set(element, Element.prototype.animate.call(element, frames, { duration: HIDDEN_MS, fill: 'both' }));
  }
  return true;
}

function show() {
  for (const animation of hidden.values()) animation.cancel();
  hidden.clear();
}

/** Whether everything that no picture may show is still hidden. */
const isHidden = (words) =>
  secrets(words).every(({ element, part }) => {
    if (!hidden.has(element)) return false;
    const { display, opacity } = getComputedStyle(element);
    return (opacity === '0' && display !== 'contents') || getComputedStyle(element, part).visibility === 'hidden';
  });

/** What they contain is the page, or nothing that can be seen. */
const UNSEEN = new Set(['html', 'head', 'body', 'title', 'meta', 'link', 'script', 'style', 'frameset']);

/** The element at a path: one step per document, each with the selectors through its shadow roots. Null: not found, or in a frame of another site. */
function find(path) {
  const frames = [];
  let root = document;
  for (const [depth, selectors] of path.entries()) {
    let element = null;
    for (const selector of selectors) {
      if (element !== null) root = element.shadowRoot;
      element = root === null ? null : (queryIn(root, selector)[0] ?? null);
      if (element === null) return null;
    }
    if (depth === path.length - 1) return { element, frames };
    frames.unshift(element);
    root = element.contentDocument ?? null;
    if (root === null) return null;
  }
  return null;
}

const isVisible = ({ left, top, right, bottom }) => right - left >= 2 && bottom - top >= 2;
const OUTSIDE = { left: -99, top: -99, right: -98, bottom: -98 };
const viewport = () => ({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });

const boxesIn = (found, area) => found.flatMap(({ boxes }) => boxes.map((box) => meet(box, area)).filter(isVisible));

let overlay = null;

/**
 * Draws boxes above the page. Styles are set by script, because a policy of the page may forbid style attributes.
 * @param outlined null: the picture shows the whole page
 */
function draw(outlined, covered) {
  overlay?.remove();
  // What is fixed stays in the viewport, which a picture of the whole page exceeds.
  const position = outlined === null ? 'absolute' : 'fixed';
  overlay = box(viewport(), { position });
  overlay.popover = 'manual';
  for (const secret of covered) overlay.append(box(secret, { position, background: '#767676' }));
  if (outlined !== null)
    overlay.append(box(outlined, { outline: '3px solid #d6006c', 'outline-offset': '2px', 'box-shadow': '0 0 0 7px #fff' }));
  document.documentElement.append(overlay);
  overlay.showPopover();
}

function box({ left, top, right, bottom }, more) {
  const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'div');
  const style = {
    all: 'initial',
    display: 'block',
    position: 'fixed',
    margin: '0',
    'pointer-events': 'none',
    left: `${left}px`,
    top: `${top}px`,
    width: `${right - left}px`,
    height: `${bottom - top}px`,
    ...more,
  };
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value, 'important');
  return element;
}

/**
 * The part of the viewport around a box: with a margin, and not smaller than the limits. If the box is larger, its beginning.
 * @param fromRight whether its text begins on the right
 */
function surroundings(box, fromRight) {
  const view = viewport();
  const side = (low, high, min, max, end, fromEnd) => {
    const wanted = high - low + 2 * LIMITS.margin;
    const length = Math.min(Math.max(wanted, min), max, end);
    const around = wanted <= length ? (low + high - length) / 2 : fromEnd ? high + LIMITS.margin - length : low - LIMITS.margin;
    return [Math.floor(Math.min(Math.max(0, around), end - length)), Math.floor(length)];
  };
  const [x, width] = side(box.left, box.right, LIMITS.minWidth, LIMITS.maxWidth, view.right, fromRight);
  const [y, height] = side(box.top, box.bottom, LIMITS.minHeight, LIMITS.maxHeight, view.bottom, false);
  return { x: x + scrollX, y: y + scrollY, width, height };
}

/**
 * Prepares the picture of the first element that can be seen.
 * @param candidates their paths, and their HTML in the report; another element may be at the path by now
 * @param words texts that no picture may show
 * @returns the part of the document to take, in CSS pixels, as JSON; `null` if none can be seen
 */
function picture(candidates, words) {
  show();
  for (const { path, html } of candidates) {
    const found = find(path);
    if (found === null || UNSEEN.has(nameOf(found.element))) continue;
    const { element, frames } = found;
    if (Element.prototype.matches.call(element, SECRET) || !matches(element, html)) continue;
    // A picture of a focus that cannot be seen shows the window, without it.
    const focused = globalThis.curbcutWalk.focus(element);
    const isDisplayed = Element.prototype.checkVisibility.call(element, { visibilityProperty: true, opacityProperty: true });
    if (!focused && !isDisplayed) continue;
    const tall = boxOf(element).height > innerHeight;
    if (!focused)
      Element.prototype.scrollIntoView.call(element, { block: tall ? 'start' : 'center', inline: 'center', behavior: 'instant' });
    const visible = meet(inPage(wholeBox(element), frames), viewport());
    const isShown = isDisplayed && isVisible(visible);
    if (!focused && !isShown) continue;
    const covered = secrets(words);
    if (!hide(covered)) return 'null';
    draw(isShown ? visible : OUTSIDE, boxesIn(covered, viewport()));
    return JSON.stringify(surroundings(isShown ? visible : viewport(), getComputedStyle(element).direction === 'rtl'));
  }
  return 'null';
}

/** How much the height of a page may differ from that of its test, because the places of its elements were measured then. */
const HEIGHT_CHANGE = 0.02;

/**
 * Prepares the picture of the page.
 * @param size of the page when it was tested
 * @param words texts that no picture may show
 * @returns the part of the document to take, in CSS pixels, as JSON; `null` if it is not the page that was tested, or too wide
 */
function pagePicture({ width, height }, words) {
  clean();
  const { scrollWidth, scrollHeight } = document.scrollingElement ?? document.documentElement;
  if (scrollX !== 0 || scrollY !== 0 || width > WHOLE.maxWidth || scrollWidth !== width) return 'null';
  if (Math.abs(scrollHeight - height) > height * HEIGHT_CHANGE) return 'null';
  const area = { left: 0, top: 0, right: width, bottom: Math.min(scrollHeight, WHOLE.maxHeight) };
  const found = secrets(words);
  if (!hide(found)) return 'null';
  draw(null, boxesIn(found, area));
  return JSON.stringify({ x: 0, y: 0, width, height: area.bottom });
}

/** Removes what was drawn and hidden for pictures, and shows the top of the page. */
function clean() {
  overlay?.remove();
  overlay = null;
  show();
  scrollTo({ left: 0, top: 0, behavior: 'instant' });
}

globalThis.curbcut = { ...globalThis.curbcut, picture, pagePicture, isHidden, clean };
