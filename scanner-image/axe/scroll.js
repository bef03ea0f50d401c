/**
 * Runs in our world of every document, after `settle.js`. Scrolls once through the page, so that it shows the content that
 * appears only then.
 */
(() => {
  'use strict';
  /** The time to wait for a frame that the browser does not draw, in milliseconds. */
  const FRAME_MS = 100;
  /** An element with less hidden height than this is not scrolled, in CSS pixels. */
  const SMALL = 50;

  const frame = () =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, FRAME_MS);
      requestAnimationFrame(() => {
        clearTimeout(timer);
        // Observers are called after the frame was drawn.
        setTimeout(resolve, 1);
      });
    });

  /** The element that scrolls the page: the document, or the part of it in the middle of the screen; null if none does. */
  function scroller() {
    const root = document.scrollingElement ?? document.documentElement;
    if (root !== null && root.scrollHeight > innerHeight + SMALL) return root;
    for (let at = document.elementFromPoint(innerWidth / 2, innerHeight / 2); at !== null; at = at.parentElement)
      if (at.scrollHeight > at.clientHeight + SMALL && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
    return null;
  }

  let scrolledHeight = 0;
  /**
   * Scrolls through at most `screens` screens from top to bottom, a frame for each, and back.
   * @param again false for the first time; later times do nothing if the page has not become longer
   * @returns whether it reached the bottom; null if it did nothing
   */
  async function scrollThrough(screens, again) {
    const element = scroller();
    if (element === null) return again ? null : true;
    if (again && element.scrollHeight <= scrolledHeight) return null;
    const isRoot = element === document.scrollingElement || element === document.documentElement;
    const height = isRoot ? innerHeight : element.clientHeight;
    const start = element.scrollTop;
    const isAtBottom = () => element.scrollTop + height >= element.scrollHeight - 2;
    let left = screens;
    for (; left > 0 && !isAtBottom(); left--) {
      const at = element.scrollTop;
      element.scrollTo({ top: at + height, behavior: 'instant' });
      if (element.scrollTop <= at) break; // the page does not let itself be scrolled
      await frame();
    }
    const reached = isAtBottom();
    scrolledHeight = element.scrollHeight;
    element.scrollTo({ top: start, behavior: 'instant' });
    await frame();
    return reached;
  }

  globalThis.curbcut = { ...globalThis.curbcut, scrollThrough };
})();
