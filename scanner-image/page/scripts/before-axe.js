/** Runs in the isolated world of every document before axe-core. */

/*
 * After every rule axe-core yields to other tasks by a timer of 0 ms. Here it continues at once, for three reasons. The page cannot
 * change or navigate during its test. Documents without scripts (sandboxed frames) can be tested. The browsers' minimum of 4 ms per
 * timer is saved about sixty times.
 */
const realSetTimeout = setTimeout;
globalThis.setTimeout = (callback, delay = 0, ...values) => {
  if (delay > 0) return realSetTimeout(callback, delay, ...values);
  Promise.resolve().then(() => callback(...values));
  return 0;
};

/*
 * Gives our scripts the closed shadow roots that our program hands over, as if they were open. The page does not see it: its world
 * has getters of its own.
 */
const HOSTS_MAX = 1000;
const opened = new WeakMap();

/** Replaces a getter of the isolated world. */
function extend(prototype, name, read) {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  const { get } = descriptor;
  Object.defineProperty(prototype, name, {
    ...descriptor,
    get() {
      return get.call(this) ?? read(this);
    },
  });
}

const parentOf = Object.getOwnPropertyDescriptor(Node.prototype, 'parentNode').get;
/** The slot of an opened root that displays a child of its host. */
function slotOf(node) {
  const root = opened.get(parentOf.call(node));
  if (root === undefined) return null;
  return [...root.querySelectorAll('slot')].find((slot) => slot.assignedNodes().includes(node)) ?? null;
}

extend(Element.prototype, 'shadowRoot', (element) => opened.get(element) ?? null);
extend(Element.prototype, 'assignedSlot', slotOf);
extend(Text.prototype, 'assignedSlot', slotOf);

/** Hosts of closed roots, or the elements whose shadow trees contain them. */
const hosts = new Set();
let declared = false;
let isTold = false;
addEventListener(
  'curbcut-roots',
  ({ relatedTarget: messenger }) => {
    isTold = true;
    messenger.addEventListener('root', ({ relatedTarget: host }) => {
      if (host === null || hosts.size >= HOSTS_MAX) declared = true;
      else hosts.add(host);
    });
  },
  { once: true },
);

/** Where the isolated world began after the scripts of the page, as in frames of other sites: custom elements may have closed roots. */
const mayHaveRoots = () =>
  [...document.querySelectorAll(':defined')].some(({ localName, shadowRoot }) => localName.includes('-') && shadowRoot === null);

globalThis.curbcutRoots = {
  /** Where closed roots are known to be: elements of the document, or the document if the page declares some. */
  places: () => (declared || (!isTold && mayHaveRoots()) ? [document] : [...hosts].filter((host) => host.isConnected)),
  open: (...roots) => {
    for (const root of roots) opened.set(root.host, root);
  },
};

// Where axe-core looks for what custom elements say through ElementInternals. Only the page's own world has it (watch.js).
globalThis._elementInternals = {
  get(element) {
    const box = document.createComment('');
    const values = {};
    const hear = ({ relatedTarget }) => {
      const [name, ...words] = box.data.split(' ');
      values[name] = relatedTarget === null ? words.join(' ') : [...(values[name] ?? []), relatedTarget];
    };
    element.addEventListener('curbcut-value', hear);
    element.dispatchEvent(new MouseEvent('curbcut-internals', { relatedTarget: box }));
    element.removeEventListener('curbcut-value', hear);
    // axe-core does not know that a label names an element with a role.
    if (element.ariaLabel === null && values.ariaLabel === undefined) values.ariaLabelledByElements ??= values.labels;
    return values;
  },
};

/*
 * Withdraws the speculation rules of the page before the browser follows them: it would load pages that the crawl may not load, such
 * as those that robots.txt disallows. The rules of a script are withdrawn when it leaves the document, and do not come back with it.
 * One that is still being parsed is inert with another type.
 */
const withdrawn = new WeakSet();
const RULES = 'script[type="speculationrules" i]';
/** More changes than this are not looked at one by one, as while the document is parsed: it costs an object for each of its nodes. */
const EACH_MAX = 20;

function withdraw(script) {
  if (withdrawn.has(script)) return;
  withdrawn.add(script);
  const { parentNode, nextSibling, type } = script;
  script.remove();
  script.setAttribute('type', 'text/plain');
  parentNode?.insertBefore(script, nextSibling);
  const restore = () => script.setAttribute('type', type);
  if (document.readyState === 'complete') restore();
  else addEventListener('load', restore, { once: true });
}

function search(root) {
  for (const script of root.querySelectorAll(RULES)) withdraw(script);
}

new MutationObserver((records) => {
  if (records.length > EACH_MAX) return search(document);
  for (const { addedNodes } of records)
    for (const node of addedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      if (node.localName === 'script') {
        if (node.matches(RULES)) withdraw(node);
      } else if (node.firstElementChild !== null) search(node);
    }
}).observe(document, { subtree: true, childList: true });
