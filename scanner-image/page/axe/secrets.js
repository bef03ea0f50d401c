/**
 * Runs in our world after boxes.js. Finds what no picture may show, and hides it while a picture is taken: a page may move it away
 * from covers, such as when it is resized.
 */

const { nameOf, parentOf, typeOf, boxOf, queryIn, attributeOf, shadowRootOf } = globalThis.curbcutSeen;
const { meet, shifted, viewOf } = globalThis.curbcutBoxes;

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

globalThis.curbcutSecrets = { SECRET, secrets, hide, show, isHidden, inPage };
