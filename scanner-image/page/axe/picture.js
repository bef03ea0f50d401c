/**
 * Runs in our world after secrets.js. Prepares the picture of an element, after the page was tested: scrolls to the element,
 * outlines it, and covers what no picture may show. Methods are taken from the prototypes for the same reason as in visible.js.
 */

const { picture: LIMITS, wholePicture: WHOLE } = globalThis.curbcutLimits;
const { matches } = globalThis.curbcutDescribe;
const { nameOf, boxOf, queryIn } = globalThis.curbcutSeen;
const { meet, wholeBox } = globalThis.curbcutBoxes;
const { SECRET, secrets, hide, show, isHidden, inPage } = globalThis.curbcutSecrets;

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
    if (!Element.prototype.checkVisibility.call(element, { visibilityProperty: true, opacityProperty: true })) continue;
    const tall = boxOf(element).height > innerHeight;
    Element.prototype.scrollIntoView.call(element, { block: tall ? 'start' : 'center', inline: 'center', behavior: 'instant' });
    const visible = meet(inPage(wholeBox(element), frames), viewport());
    if (!isVisible(visible)) continue;
    const covered = secrets(words);
    if (!hide(covered)) return 'null';
    draw(visible, boxesIn(covered, viewport()));
    return JSON.stringify(surroundings(visible, getComputedStyle(element).direction === 'rtl'));
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
  overlay?.remove();
  overlay = null;
  show();
  scrollTo({ left: 0, top: 0, behavior: 'instant' });
  const { scrollWidth, scrollHeight } = document.scrollingElement ?? document.documentElement;
  if (scrollX !== 0 || scrollY !== 0 || width > WHOLE.maxWidth || scrollWidth !== width) return 'null';
  if (Math.abs(scrollHeight - height) > height * HEIGHT_CHANGE) return 'null';
  const area = { left: 0, top: 0, right: width, bottom: Math.min(scrollHeight, WHOLE.maxHeight) };
  const found = secrets(words);
  if (!hide(found)) return 'null';
  draw(null, boxesIn(found, area));
  return JSON.stringify({ x: 0, y: 0, width, height: area.bottom });
}

globalThis.curbcut = { ...globalThis.curbcut, picture, pagePicture, isHidden };
