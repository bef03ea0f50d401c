/**
 * Runs in our world before axe-core. axe-core gives way to other tasks after every rule by a timer of no delay; here it
 * goes on at once, so that a page cannot change (nor leave) in the middle of its test, a document whose scripts are off
 * (a sandboxed frame) can be tested at all, and the 4 ms that browsers make such timers wait are saved some sixty times.
 */
(() => {
  'use strict';
  const realSetTimeout = setTimeout;
  globalThis.setTimeout = (callback, delay = 0, ...values) => {
    if (delay > 0) return realSetTimeout(callback, delay, ...values);
    Promise.resolve().then(() => callback(...values));
    return 0;
  };
})();
