/**
 * Runs in the page's own world of every document, before the scripts of the page. Records timers, observers of the scroll position,
 * new shadow roots and workers, so that the first look at a page often is the last one. What it does not know of, the next look finds.
 * The page cannot reach the record: it is kept in a node that is shared with the isolated world only. It uses no method
 * that the page could have replaced by the time it is called.
 */

/** A timer with a longer delay is no part of loading, in milliseconds: most give up a request after 10 s, or end a session. */
const LONGEST = 9000;

const { apply, construct } = Reflect;
const now = performance.now.bind(performance);
const { setTimeout: later } = globalThis;
const { addEventListener: listen } = EventTarget.prototype;
/** The timers that have not run, by ID: when they are due, and their delay. */
const timers = Object.create(null);
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

/** A delay from an attribute is a string. Objects may run code of the page. */
const delayOf = (value) => (typeof value === 'number' ? value : typeof value === 'string' ? +value || 0 : 0);
const isId = (id) => typeof id === 'number';
const remove = (values) => isId(values[0]) && delete timers[values[0]];
watch(globalThis, 'setTimeout', (values, id) => {
  const delay = delayOf(values[1]);
  if (!(delay <= LONGEST) || !isId(id)) return;
  timers[id] = `${now() + delay} ${delay}`;
  // It runs after the page's own timer, which was set for the same time before it, however late that is on a loaded machine.
  apply(later, globalThis, [() => delete timers[id], delay]);
});
// Intervals repeat what the page shows, so that the first look does not wait for them.
watch(globalThis, 'setInterval', (_values, id) => isId(id) && (timers[id] = 'Infinity 0'));
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
    let text = `${scrolls} ${roots} ${workers} ${silent}`;
    for (const id in timers) text += `,${timers[id]}`;
    node.data = text;
  },
]);
// `settle.js` and `before-axe.js` were evaluated before, in the isolated world. An event is the only way to hand a node to them.
dispatchEvent(new MouseEvent('curbcut', { relatedTarget: node }));
dispatchEvent(new MouseEvent('curbcut-roots', { relatedTarget: messenger }));
