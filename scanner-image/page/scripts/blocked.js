/**
 * Runs in the isolated world of every document, after visible.js. Recognises that most of the content is inert, hidden or covered by a
 * modal layer, such as a consent dialog. Layers that contain the main content, and those that cover only a part, do not count.
 */

const { nameOf, attributeOf, boxOf, shadowRootOf, queryIn, isElement, within, contentOf, isDisplayed, isSeen, seenText, shows } =
  globalThis.curbcutSeen;
const matches = (element, selector) => Element.prototype.matches.call(element, selector);

/** The number of points in a row and a column of the screen at which layers are searched. */
const GRID = 5;
/** The share of these points that layers must cover. A box in the middle of the screen covers less, and the page is in use. */
const COVERED = 0.6;
/** The number of texts on the screen that are looked for behind layers. */
const TEXTS_MAX = 60;
/** Shorter hidden texts are no content, in characters. */
const HIDDEN_MIN = 80;
/** The most that a page shows beside a layer, as a share of the text that is hidden: of a main landmark, or of any other. */
const BESIDE = { main: 0.5, other: 0.25 };
/** In CSS pixels. */
const EDGE = 20;
const LABEL_MAX = 80;

const DIALOG = 'dialog[open],[role="dialog" i],[role="alertdialog" i],[aria-modal="true" i]';
const MAIN = 'main,[role="main" i]';

const lengthOf = (text) => text.replace(/\s+/g, ' ').trim().length;
const isIn = (node, layers) => within(node, (at) => layers.has(at));
const isInert = (element) => within(element, (at) => matches(at, '[inert],[aria-hidden="true" i]'));

/** The element at a point of the screen, also in shadow trees. */
function elementAt(x, y) {
  let found = Document.prototype.elementFromPoint.call(document, x, y);
  for (let root = found && shadowRootOf(found); root; root = shadowRootOf(found)) {
    const inner = root.elementFromPoint(x, y);
    if (inner === null || inner === found) break;
    found = inner;
  }
  return found;
}

/** Whether an element is out of the flow of the page, and above it. */
function isLayer(element) {
  const { position } = getComputedStyle(element);
  if (position === 'fixed') return true;
  if (position !== 'absolute') return false;
  const parent = element.offsetParent ?? null;
  return parent === null || parent === document.body || parent === document.documentElement;
}

/** The innermost layer that an element is in; null if it is in the flow of the page. */
function layerOf(element) {
  let layer = null;
  if (element !== null) within(element, (at) => isLayer(at) && ((layer = at), true));
  return layer;
}

/** The layers at the points of the screen that show something, and the share of the points that they cover. */
function layersOnScreen(mains) {
  const shares = new Map();
  for (let row = 1; row <= GRID; row++)
    for (let column = 1; column <= GRID; column++) {
      const layer = layerOf(elementAt((innerWidth * column) / (GRID + 1), (innerHeight * row) / (GRID + 1)));
      if (layer !== null) shares.set(layer, (shares.get(layer) ?? 0) + 1 / GRID ** 2);
    }
  for (const layer of shares.keys()) if (mains.some((main) => within(main, (at) => at === layer)) || !isOpaque(layer)) shares.delete(layer);
  return { layers: new Set(shares.keys()), share: [...shares.values()].reduce((sum, share) => sum + share, 0) };
}

/** Whether a layer shows something. Transparent ones only catch clicks. */
function isOpaque(layer) {
  if (!isDisplayed(layer)) return false;
  const { backgroundColor, backdropFilter } = getComputedStyle(layer);
  const isClear = /^rgba\(.*, 0\)$|^transparent$|\/ 0\)$/.test(backgroundColor);
  return !isClear || (backdropFilter ?? 'none') !== 'none' || SHOWN.has(nameOf(layer)) || shows(layer);
}
const SHOWN = new Set(['iframe', 'object', 'embed', 'img', 'canvas', 'svg', 'video']);

/** The lengths of the texts on the screen outside of the layers: those that are covered, those that are not, and of their headings. */
function textsBehind(layers) {
  const found = { covered: 0, free: 0, inert: 0, heading: false };
  let left = TEXTS_MAX;
  for (const node of contentOf(document)) {
    if (left === 0) break;
    if (isElement(node) || !/\S/.test(node.data) || !mayBeOnScreen(node) || isIn(node, layers)) continue;
    const box = seenText(node);
    if (box === null || !isOnScreen(box)) continue;
    left -= 1;
    const length = lengthOf(node.data);
    const at = elementAt(middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight));
    const isCovered = at !== null && isIn(at, layers);
    found[isCovered ? 'covered' : 'free'] += length;
    if (isInert(node)) found.inert += length;
    if (isCovered && within(node, (outer) => nameOf(outer) === 'h1')) found.heading = true;
  }
  return found;
}
/** A quick answer for most texts of a long page. */
const mayBeOnScreen = ({ parentElement }) => parentElement === null || boxOf(parentElement).top < innerHeight;
/** Whether more than the edge of a box is on the screen. */
const isOnScreen = ({ left, right, top, bottom }) =>
  Math.min(right, innerWidth) - Math.max(left, 0) > Math.min(EDGE, (right - left) / 2) &&
  Math.min(bottom, innerHeight) - Math.max(top, 0) > Math.min(EDGE, (bottom - top) / 2);
const middle = (low, high, end) => (Math.max(low, 0) + Math.min(high, end - 1)) / 2;

const hasHeading = (layers) => [...layers].some((layer) => Element.prototype.querySelector.call(layer, 'h1') !== null);

function hasTextBeside(layer) {
  for (const node of contentOf(document))
    if (!isElement(node) && /\S/.test(node.data) && !within(node, (at) => at === layer) && seenText(node) !== null) return true;
  return false;
}

/** The length of the text that a tree shows, or has although it is hidden. */
function textOf(root, { hidden = false, without = new Set() } = {}) {
  let length = 0;
  for (const node of contentOf(root)) {
    if (isElement(node) || !/\S/.test(node.data) || (without.size > 0 && isIn(node, without))) continue;
    if (hidden || seenText(node) !== null) length += lengthOf(node.data);
  }
  return length;
}

const sum = (roots, options) => [...roots].reduce((length, root) => length + textOf(root, options), 0);

/** Whether the main content is hidden while a layer is displayed, or all that the body consists of but the layer. */
function isHiddenBehind(layers, mains) {
  if (mains.length > 0) {
    if (mains.some(isDisplayed)) return false;
    const length = sum(mains, { hidden: true });
    return length >= (layers.size > 0 ? 1 : HIDDEN_MIN) && textOf(document, { without: layers }) <= length * BESIDE.main;
  }
  if (layers.size === 0 || [...queryIn(document, 'h1')].some((heading) => !isIn(heading, layers) && isSeen(heading))) return false;
  const parts = [...document.body.children];
  const hidden = parts.filter((part) => !isDisplayed(part) && !matches(part, DIALOG));
  if (hidden.length === 0) return false;
  // Several parts of one kind are views, of which one is displayed at a time.
  const displayed = new Set(parts.filter(isDisplayed).map(kindOf));
  const length = sum(
    hidden.filter((part) => !displayed.has(kindOf(part))),
    { hidden: true },
  );
  return length >= HIDDEN_MIN && textOf(document, { without: layers }) <= length * BESIDE.other;
}

const kindOf = (element) => {
  const classes = attributeOf(element, 'class') ?? '';
  return `${nameOf(element)} ${classes === '' && attributeOf(element, 'id') !== null ? 'id' : classes}`;
};

/** The modal dialog, or the other dialogs that are displayed. */
function dialogsOf(elements, mains) {
  const dialogs = elements.filter(
    (element) => matches(element, DIALOG) && !mains.some((main) => within(main, (at) => at === element)) && isSeen(element),
  );
  return { dialogs, modal: dialogs.find((element) => nameOf(element) === 'dialog' && matches(element, ':modal')) ?? null };
}

/** What keeps a visitor from most of the content; null if nothing does. */
function blocked(roots) {
  if (document.body === null || nameOf(document.body) !== 'body') return null;
  const elements = roots.flatMap((root) => [...queryIn(root, `${DIALOG},${MAIN},[inert]`)]);
  const mains = elements.filter((element) => matches(element, MAIN));
  const { dialogs, modal } = dialogsOf(elements, mains);
  if (modal !== null && hasTextBeside(modal)) return { by: 'inert', layer: describe([modal]) };
  const displayed = mains.filter(isDisplayed);
  // A rectangle that covers most of the screen covers its middle.
  const isLayered = elements.some(isInert) || layerOf(elementAt(innerWidth / 2, innerHeight / 2)) !== null;
  const { layers, share } = isLayered ? layersOnScreen(mains) : { layers: [], share: 0 };
  const all = new Set([...layers, ...dialogs]);
  const named = [...dialogs, ...layers];
  if (displayed.length > 0 && displayed.every(isInert)) return { by: 'inert', layer: describe(named) };
  if (isHiddenBehind(all, mains)) return { by: 'hidden', layer: describe(named) };
  const isCovering = share >= COVERED;
  if (!isCovering && (displayed.length > 0 || !elements.some((element) => matches(element, '[inert]')))) return null;
  const { covered, free, inert, heading } = textsBehind(all);
  if (displayed.length === 0 && inert > (covered + free) / 2) return { by: 'inert', layer: describe(named) };
  if (!isCovering || covered <= free) return null;
  const isContent = displayed.length > 0 || (heading && !hasHeading(layers)) || covered >= sum(layers);
  return isContent ? { by: 'covered', layer: describe(named) } : null;
}

/** The first of the layers that has a name, or else the first: its selector, and its name. */
function describe(layers) {
  const found = layers.map((layer) => ({ layer, name: labelOf(layer) }));
  const { layer, name } = found.find(({ name: label }) => label !== '') ?? found[0] ?? {};
  if (layer === undefined) return '';
  const id = attributeOf(layer, 'id') ?? '';
  const classes = (attributeOf(layer, 'class') ?? '')
    .trim()
    .split(/\s+/, 2)
    .filter((part) => part !== '');
  const selector = id !== '' ? `#${CSS.escape(id)}` : [nameOf(layer), ...classes.map((part) => CSS.escape(part))].join('.');
  return `${selector.slice(0, LABEL_MAX)}${name === '' ? '' : ` (“${name}”)`}`.toWellFormed();
}

/** The name that a layer is given, or the beginning of its text. */
function labelOf(layer) {
  const ids = (attributeOf(layer, 'aria-labelledby') ?? '').split(/\s+/).filter((id) => id !== '');
  const root = layer.getRootNode();
  const labels = ids.map((id) => root.getElementById?.(id)?.textContent ?? '').join(' ');
  const label = [labels, attributeOf(layer, 'aria-label'), attributeOf(layer, 'title'), firstText(layer)].find((text) =>
    /\S/.test(text ?? ''),
  );
  const plain = (label ?? '').replace(/\s+/g, ' ').trim();
  return plain.length > LABEL_MAX ? `${plain.slice(0, LABEL_MAX)}…` : plain;
}

function firstText(layer) {
  for (const node of contentOf(layer)) if (!isElement(node) && seenText(node) !== null) return node.data;
  return '';
}

/** Whether the page shows anything, whether its main content does, and what blocks it. */
function visible(roots) {
  try {
    const mains = queryIn(document, 'main:not([hidden]), [role="main"]:not([hidden])');
    const rendered = shows(document);
    return { rendered, own: rendered && (mains.length !== 1 || shows(mains[0])), blocked: rendered ? blocked(roots) : null };
  } catch {
    // Fields of a form may have names that our scripts stumble over. The page is tested without a caveat.
    return { rendered: true, own: true, blocked: null };
  }
}

globalThis.curbcut = { ...globalThis.curbcut, visible };
