/**
 * Runs in the page's own world of every document, before the scripts of the page. Records what the page waits for, so that
 * `settle.js` waits only on pages that will change: timers, observers of the scroll position, and new shadow roots.
 * The page cannot reach the record: it is kept in a node that is shared with our world only. It uses no method that the page
 * could have replaced by the time it is called.
 */
(() => {
  'use strict';
  /** Timers with a longer delay are never waited for, in milliseconds. */
  const LONGEST = 3000;
  /** The number of an interval's ticks that are waited for. */
  const TICKS = 3;
  const MOST_TIMERS = 1000;

  const { apply } = Reflect;
  const { round, ceil } = Math;
  const now = performance.now.bind(performance);
  let timers = Object.create(null);
  let count = 0;
  let scrolls = 0;
  let roots = 0;

  /** Replaces a function by one that calls `seen` with its arguments and its result. It looks like the original. */
  function watch(owner, name, seen) {
    const real = owner?.[name];
    if (typeof real !== 'function') return;
    owner[name] = new Proxy(real, {
      apply(target, self, values) {
        const result = apply(target, self, values);
        seen(values, result);
        return result;
      },
    });
  }

  function add(id, delay, ticks) {
    if (!(delay <= LONGEST) || typeof id !== 'number') return;
    if (count >= MOST_TIMERS) forgetOverdue();
    if (count >= MOST_TIMERS) return;
    timers[id] = { set: now(), delay: delay > 0 ? delay : 0, ticks };
    count += 1;
  }

  /** The time of the next tick that is waited for; null if there is none. */
  function dueAt({ set, delay, ticks }) {
    const at = now();
    const tick = delay === 0 ? 1 : ceil((at - set) / delay) || 1;
    return tick > ticks ? null : set + (tick < 1 ? 1 : tick) * delay;
  }

  function forgetOverdue() {
    const left = Object.create(null);
    let kept = 0;
    for (const id in timers) {
      if (dueAt(timers[id]) === null) continue;
      left[id] = timers[id];
      kept += 1;
    }
    timers = left;
    count = kept;
  }

  const delayOf = (value) => (typeof value === 'number' ? value : 0);
  const remove = ([id]) => {
    if (typeof id !== 'number' || timers[id] === undefined) return;
    delete timers[id];
    count -= 1;
  };
  watch(globalThis, 'setTimeout', (values, id) => add(id, delayOf(values[1]), 1));
  watch(globalThis, 'setInterval', (values, id) => add(id, delayOf(values[1]), TICKS));
  watch(globalThis, 'clearTimeout', remove);
  watch(globalThis, 'clearInterval', remove);
  watch(globalThis.IntersectionObserver?.prototype, 'observe', () => (scrolls += 1));
  watch(EventTarget.prototype, 'addEventListener', (values) => {
    if (values[0] === 'scroll' || values[0] === 'wheel') scrolls += 1;
  });
  watch(Element.prototype, 'attachShadow', () => (roots += 1));

  const node = document.createComment('');
  node.addEventListener('ask', () => {
    forgetOverdue();
    let text = `${scrolls} ${roots}`;
    for (const id in timers) {
      const due = dueAt(timers[id]);
      if (due !== null) text += `,${round(timers[id].delay)} ${round(due)}`;
    }
    node.data = text;
  });
  // `settle.js` was evaluated before, in our world. An event is the only way to hand a node to it.
  dispatchEvent(new MouseEvent('curbcut', { relatedTarget: node }));
})();
