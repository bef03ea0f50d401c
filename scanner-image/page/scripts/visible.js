/**
 * Runs in the isolated world of every document, after axe-core. Tells what a visitor sees: texts, controls and pictures, in the document
 * and its shadow roots.
 *
 * Getters and methods are taken from the prototypes, because a form with a field of the name `attributes` hides its own property,
 * also in an isolated world.
 */

const getter = (prototype, name) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return (object) => get.call(object);
};
const nameOf = getter(Element.prototype, 'localName');
const parentOf = getter(Node.prototype, 'parentNode');
const slotOf = getter(Element.prototype, 'assignedSlot');
const shadowRootOf = getter(Element.prototype, 'shadowRoot');
const typeOf = getter(Node.prototype, 'nodeType');
const attributeOf = (element, name) => Element.prototype.getAttribute.call(element, name);
const boxOf = (element) => Element.prototype.getBoundingClientRect.call(element);
const queryIn = (root, selector) =>
  (typeOf(root) === Node.DOCUMENT_NODE ? Document.prototype : DocumentFragment.prototype).querySelectorAll.call(root, selector);
const isElement = (node) => node instanceof Element;

/** Their text is no content. */
const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'datalist']);
/** Pictures and controls. */
const SEEN = new Set('img svg canvas video iframe frame object embed button input select textarea audio meter progress'.split(' '));
/** Smaller boxes count visitors, or are for screen readers only, in CSS pixels. */
const SMALL = 3;
/** The number of elements whose style is read, on a page without text, control and picture. */
const STYLES_MAX = 3000;

/** The element or root that an element is displayed in. */
function containerOf(node) {
  const slot = isElement(node) ? slotOf(node) : null;
  return slot ?? (node instanceof ShadowRoot ? node.host : parentOf(node));
}

/** Whether an element is, or is displayed in, one for which the function returns true. */
function within(element, holds) {
  for (let at = element; at !== null && at !== document; at = containerOf(at)) if (isElement(at) && holds(at)) return true;
  return false;
}

/** The document and its shadow roots. */
function roots() {
  const found = [document];
  for (const root of found) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const shadow = shadowRootOf(node);
      if (shadow !== null) found.push(shadow);
    }
  }
  return found;
}

/** The elements and texts of a tree and of the shadow trees in it. */
function* contentOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    isElement(node) && SKIPPED.has(nameOf(node)) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    yield node;
    const shadow = isElement(node) ? shadowRootOf(node) : null;
    if (shadow !== null) yield* contentOf(shadow);
  }
}

const isDisplayed = (element) => Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true });
const isLarge = ({ width, height, right, bottom }) => width >= SMALL && height >= SMALL && right + scrollX > 0 && bottom + scrollY > 0;

/** Whether an element is a box that shows nothing, as those of texts for screen readers are. */
function clips(at) {
  const name = nameOf(at);
  if (name === 'html' || name === 'body') return false;
  const { position, clip, clipPath, overflowX, overflowY } = getComputedStyle(at);
  if (/^inset\((?:50|100)%/.test(clipPath)) return true;
  if ((position === 'absolute' || position === 'fixed') && /^rect\((?:0px|1px)(?:,? (?:0px|1px)){3}\)$/.test(clip)) return true;
  if (overflowX === 'visible' && overflowY === 'visible') return false;
  const { width, height } = boxOf(at);
  return (width < SMALL && overflowX !== 'visible') || (height < SMALL && overflowY !== 'visible');
}
const isClipped = (element) => within(element, clips);

/** The box of a text that can be seen; null if it cannot. */
function seenText(node) {
  // A text may be a child of the shadow root itself.
  const parent = isElement(parentOf(node)) ? parentOf(node) : containerOf(parentOf(node));
  if (parent === null || !/\S/.test(node.data) || !isDisplayed(parent)) return null;
  const range = document.createRange();
  range.selectNodeContents(node);
  const box = range.getBoundingClientRect();
  return isLarge(box) && !isClipped(parent) ? box : null;
}

const isSeen = (element) => isDisplayed(element) && isLarge(boxOf(element)) && !isClipped(element);

/** All elements that can be seen. Each box is looked at once. */
function allSeen() {
  const known = new Map();
  const isHidden = (at) => {
    if (at === null || at === document) return false;
    if (!known.has(at)) known.set(at, (isElement(at) && clips(at)) || isHidden(containerOf(at)));
    return known.get(at);
  };
  return new Set(
    [...contentOf(document)].filter((node) => isElement(node) && isDisplayed(node) && isLarge(boxOf(node)) && !isHidden(node)),
  );
}

const isPainted = (element) => {
  if (!isDisplayed(element) || !isLarge(boxOf(element))) return false;
  if (getComputedStyle(element).backgroundImage.includes('url(')) return true;
  return ['::before', '::after'].some((part) =>
    /[^"\s]|url\(/.test(getComputedStyle(element, part).content.replace(/^(?:none|normal)$/, '')),
  );
};

/** Whether a tree shows a text, a control or a picture. Most end at their first text. */
function shows(root) {
  for (const node of contentOf(root)) if (!isElement(node) ? seenText(node) !== null : SEEN.has(nameOf(node)) && isSeen(node)) return true;
  let left = STYLES_MAX;
  for (const node of contentOf(root)) if (isElement(node) && (--left < 0 || isPainted(node))) return true;
  return false;
}

globalThis.curbcutSeen = {
  getter,
  nameOf,
  parentOf,
  containerOf,
  typeOf,
  attributeOf,
  boxOf,
  shadowRootOf,
  queryIn,
  roots,
  isElement,
  within,
  contentOf,
  isDisplayed,
  isClipped,
  isSeen,
  allSeen,
  containerOf,
  seenText,
  shows,
};
