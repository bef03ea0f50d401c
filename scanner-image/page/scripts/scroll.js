/**
 * Runs in the isolated world of every document, after `settle.js`. Scrolls once through the page, so that it shows the content that
 * appears only then.
 */

/** An element with less hidden height than this is not scrolled, in CSS pixels. */
const SMALL = 50;
/** The visible elements of larger documents are not compared. */
const COMPARED_ELEMENTS = 20_000;

/** The element that scrolls the page: the document, or the part of it in the middle of the screen; null if none does. */
function scroller() {
  const root = document.scrollingElement ?? document.documentElement;
  if (root !== null && root.scrollHeight > innerHeight + SMALL) return root;
  for (let at = document.elementFromPoint(innerWidth / 2, innerHeight / 2); at !== null; at = at.parentElement)
    if (at.scrollHeight > at.clientHeight + SMALL && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  return null;
}

/** Elements with text that were visible before the page was scrolled, and those that were visible only then. */
let atTop = null;
const inView = new Set();

/** Visible elements that have text or a picture of their own. */
function visibleContent() {
  const elements = globalThis.curbcut.allElements();
  if (elements.length > COMPARED_ELEMENTS) return [];
  return elements.filter(
    (element) =>
      (element.localName === 'img' || [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && /\S/.test(node.data))) &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  );
}

/** The number of elements that were visible while the page was scrolled, and neither before nor now. */
function viewOnly() {
  const now = new Set(visibleContent());
  return [...inView].filter((element) => !now.has(element)).length;
}

let scrolledHeight = 0;
/**
 * Scrolls through at most `screens` screens from top to bottom, a frame for each, and back.
 * @param again false for the first time; later times do nothing if the page has not become longer. The last one, without screens,
 * does nothing unless it has become longer by a screen.
 * @returns whether it reached the bottom; null if it did nothing
 */
async function scrollThrough(screens, again) {
  const element = scroller();
  if (element === null) return again ? null : true;
  const isRoot = element === document.scrollingElement || element === document.documentElement;
  const height = isRoot ? innerHeight : element.clientHeight;
  // Late content makes a page a little longer; one that goes on without end becomes longer by screens.
  if (again && element.scrollHeight <= scrolledHeight + (screens === 0 ? height : 0)) return null;
  const start = element.scrollTop;
  globalThis.curbcut.keepInView();
  atTop ??= new Set(visibleContent());
  const isAtBottom = () => element.scrollTop + height >= element.scrollHeight - 2;
  let left = screens;
  for (; left > 0 && !isAtBottom(); left--) {
    const at = element.scrollTop;
    element.scrollTo({ top: at + height, behavior: 'instant' });
    if (element.scrollTop <= at) break; // the page does not let itself be scrolled
    await globalThis.curbcut.frame();
    for (const shown of visibleContent()) if (!atTop.has(shown)) inView.add(shown);
  }
  const reached = isAtBottom();
  scrolledHeight = element.scrollHeight;
  element.scrollTo({ top: start, behavior: 'instant' });
  await globalThis.curbcut.frame();
  return reached;
}

globalThis.curbcut = { ...globalThis.curbcut, scrollThrough, viewOnly };
