/**
 * Runs in the page's own world of every document, before the scripts of the page. Records timers, observers of the scroll position,
 * new shadow roots and workers, so that the first look at a page often is the last one. What it does not know of, the next look finds.
 * The page cannot reach the record: it is kept in a node that is shared with the isolated world only. It uses no method
 * that the page could have replaced by the time it is called.
 */

/** A timer with a longer delay is no part of loading, in milliseconds: most give up a request after 10 s, or end a session. */
const LONGEST = 9000;
/** The browser makes nested timers at least that long. */
const SHORTEST = 4;
const MOST_TIMERS = 1000;

const { apply, construct } = Reflect;
const { round } = Math;
const now = performance.now.bind(performance);
const { addEventListener: listen } = EventTarget.prototype;
let timers = Object.create(null);
let count = 0;
let scrolls = 0;
let roots = 0;
let workers = 0;
/** The workers that have not sent anything. */
let silent = 0;

/** Replaces a function by one that calls `seen` with its arguments, its result and its receiver. It looks like the original. */
function watch(owner, name, seen) {
  const real = owner?.[name];
  if (typeof real !== 'function') return;
  owner[name] = new Proxy(real, {
    apply(target, self, values) {
      const result = apply(target, self, values);
      seen(values, result, self);
      return result;
    },
  });
}

/** Replaces a class by one that passes its arguments through `change`, and calls `made` with each object. */
function watchClass(name, made, change = (values) => values) {
  const Real = globalThis[name];
  if (typeof Real !== 'function') return;
  const watched = new Proxy(Real, {
    construct(target, values, newTarget) {
      const object = construct(target, change(values), newTarget);
      made(object);
      return object;
    },
  });
  globalThis[name] = watched;
  Real.prototype.constructor = watched;
}

function add(id, delay) {
  if (!(delay <= LONGEST) || typeof id !== 'number') return;
  if (count >= MOST_TIMERS) forgetOverdue(now());
  if (count >= MOST_TIMERS) return;
  const wait = delay > SHORTEST ? delay : SHORTEST;
  timers[id] = { delay: wait, due: now() + wait };
  count += 1;
}

function forgetOverdue(at) {
  const left = Object.create(null);
  count = 0;
  for (const id in timers) {
    if (timers[id].due <= at) continue;
    left[id] = timers[id];
    count += 1;
  }
  timers = left;
}

/** A delay from an attribute is a string. Objects may run code of the page. */
const delayOf = (value) => (typeof value === 'number' ? value : typeof value === 'string' ? +value || 0 : 0);
const remove = ([id]) => {
  if (typeof id !== 'number' || timers[id] === undefined) return;
  delete timers[id];
  count -= 1;
};
// Intervals repeat what the page shows: the next look finds it.
watch(globalThis, 'setTimeout', (values, id) => add(id, delayOf(values[1])));
watch(globalThis, 'clearTimeout', remove);
watch(globalThis, 'clearInterval', remove);

const ANSWERS = ['message', 'error', 'messageerror'];
const ends = new WeakMap();
const { get, set } = WeakMap.prototype;
watchClass('SharedWorker', () => (workers += 1));
watchClass('Worker', (worker) => {
  workers += 1;
  silent += 1;
  let isSilent = true;
  const end = () => {
    if (isSilent) silent -= 1;
    isSilent = false;
  };
  // No iterator, which a page may have replaced.
  for (let at = 0; at < ANSWERS.length; at += 1) apply(listen, worker, [ANSWERS[at], end]);
  apply(set, ends, [worker, end]);
});
watch(globalThis.Worker?.prototype, 'terminate', (_values, _result, worker) => apply(get, ends, [worker])?.());

/** Whether the page is scrolled for its test. Observers then hear that an element comes into view, and not that it leaves. */
let scrolling = false;
const reported = new WeakSet();
const { has, add: remember } = WeakSet.prototype;

/** The entries that an observer hears. An element that it did not know may be out of view. */
function heard(entries) {
  const kept = [];
  for (let at = 0, next = 0; at < entries.length; at += 1) {
    const entry = entries[at];
    if (!scrolling || entry.isIntersecting || !apply(has, reported, [entry.target])) kept[next++] = entry;
    apply(remember, reported, [entry.target]);
  }
  return kept;
}
const hearing = (callback) =>
  typeof callback !== 'function'
    ? callback
    : function (entries, observer) {
        const kept = heard(entries);
        if (kept.length > 0) apply(callback, this, [kept, observer]);
      };
watchClass(
  'IntersectionObserver',
  () => undefined,
  ([callback, ...options]) => [hearing(callback), ...options],
);
watch(globalThis.IntersectionObserver?.prototype, 'observe', () => (scrolls += 1));
watch(EventTarget.prototype, 'addEventListener', (values) => {
  if (values[0] === 'scroll' || values[0] === 'wheel') scrolls += 1;
});

// Closed shadow roots. Events of another node tell `before-axe.js` which elements get one.
const Message = MouseEvent;
const modeOf = Object.getOwnPropertyDescriptor(ShadowRoot.prototype, 'mode').get;
const messenger = document.createComment('');
const send = messenger.dispatchEvent.bind(messenger);
watch(Element.prototype, 'attachShadow', (_values, root, host) => {
  roots += 1;
  if (apply(modeOf, root, []) === 'closed') send(new Message('root', { relatedTarget: host }));
});
// HTML that scripts set may declare closed roots.
for (const owner of [Element.prototype, ShadowRoot.prototype]) watch(owner, 'setHTMLUnsafe', () => send(new Message('root')));
watch(Document, 'parseHTMLUnsafe', () => send(new Message('root')));

// Roles, states, names and labels that custom elements give themselves through ElementInternals, for `before-axe.js`, which asks by an
// event. The answer is an event for each text or element, at the custom element, because it would hide elements of shadow roots elsewhere.
const fields = Object.entries(Object.getOwnPropertyDescriptors(ElementInternals.prototype)).filter(([name]) =>
  /^(aria|role|labels)/.test(name),
);
const { dispatchEvent: answer } = EventTarget.prototype;
function tellInternals(internals, element, box) {
  for (let at = 0; at < fields.length; at += 1) {
    let value = null;
    try {
      value = apply(fields[at][1].get, internals, []);
    } catch {
      // Only a field of a form has labels.
    }
    if (value === null) continue;
    const isText = typeof value === 'string';
    box.data = isText ? `${fields[at][0]} ${value}` : fields[at][0];
    const parts = isText ? [null] : value instanceof Element ? [value] : value;
    for (let next = 0; next < parts.length; next += 1)
      apply(answer, element, [new Message('curbcut-value', { relatedTarget: parts[next] })]);
  }
}
watch(HTMLElement.prototype, 'attachInternals', (_values, internals, element) =>
  apply(listen, element, ['curbcut-internals', ({ relatedTarget: box }) => tellInternals(internals, element, box)]),
);

const node = document.createComment('');
apply(listen, node, ['scroll', () => (scrolling = true)]);
apply(listen, node, [
  'ask',
  () => {
    // The time until which timers have run. On a loaded machine it is not the current time.
    const at = +node.data;
    forgetOverdue(at);
    let text = `${scrolls} ${roots} ${workers} ${silent}`;
    for (const id in timers) text += `,${round(timers[id].delay)} ${round(timers[id].due)}`;
    node.data = text;
  },
]);
// `settle.js` and `before-axe.js` were evaluated before, in the isolated world. An event is the only way to hand a node to them.
dispatchEvent(new MouseEvent('curbcut', { relatedTarget: node }));
dispatchEvent(new MouseEvent('curbcut-roots', { relatedTarget: messenger }));
