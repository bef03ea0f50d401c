/**
 * Runs in our world before axe-core. After every rule axe-core yields to other tasks by a timer of 0 ms. Here it continues
 * at once, for three reasons: the page cannot change or navigate during its test; documents without scripts (sandboxed
 * frames) can be tested; and the browsers' minimum of 4 ms per timer is saved about sixty times.
 */

const realSetTimeout = setTimeout;
globalThis.setTimeout = (callback, delay = 0, ...values) => {
  if (delay > 0) return realSetTimeout(callback, delay, ...values);
  Promise.resolve().then(() => callback(...values));
  return 0;
};
