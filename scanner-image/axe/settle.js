/**
 * Runs in our world of every document, after axe-core. Waits until the document is quiet and its animations are finished.
 */
(() => {
  'use strict';
  let changed = performance.now();
  let loaded = document.readyState === 'complete' ? changed : null;
  addEventListener('load', () => (loaded = performance.now()), { once: true });
  // `style` is not observed, because scripted animations change it all the time.
  new MutationObserver(() => (changed = performance.now())).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: ['class', 'hidden', 'open', 'src', 'href', 'role', 'lang', 'disabled', 'aria-hidden', 'aria-expanded', 'aria-label'],
  });

  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /**
   * Resolves when the document has not changed for `quietMs`, or after `capMs`. Pages without scripts are quiet immediately.
   * It ends before a meta refresh (or a Refresh header, in seconds) replaces the document.
   * @returns true if the document is about to redirect, by a refresh of zero seconds
   */
  async function settle(quietMs, capMs, refreshHeader) {
    const delays = [refreshDelay(), refreshHeader].filter((seconds) => seconds !== null);
    if (delays.some((seconds) => seconds <= 0)) return true;
    if (document.scripts.length === 0 && document.querySelector('iframe,frame') === null) return false;
    const began = performance.now();
    const end = began + Math.min(capMs, Math.min(...delays) * 500);
    // Scripts that start requests on load, or after a response, need time to show the result.
    const earliest = Math.max(began, loaded ?? 0) + quietMs / 2;
    for (;;) {
      const now = performance.now();
      const left = Math.max(changed + quietMs, earliest) - now;
      if (left <= 0 || now >= end) return false;
      await later(Math.min(left, end - now));
    }
  }

  /** Waits for fonts, because contrast and size depend on them, and finishes every animation. */
  async function still(capMs) {
    if (document.fonts !== undefined && document.fonts.status !== 'loaded') await Promise.race([document.fonts.ready, later(capMs)]);
    for (const animation of document.getAnimations()) {
      try {
        animation.finish();
      } catch {
        animation.cancel(); // an endless animation cannot finish
      }
    }
  }

  /** The delay of a meta refresh in seconds; null if there is none. */
  function refreshDelay() {
    for (const meta of document.querySelectorAll('meta[http-equiv="refresh" i]')) {
      const seconds = parseFloat(meta.getAttribute('content') ?? '');
      if (!Number.isNaN(seconds)) return seconds;
    }
    return null;
  }

  globalThis.curbcut = { ...globalThis.curbcut, settle, still };
})();
