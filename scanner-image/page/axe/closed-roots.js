/**
 * Runs in our world before axe-core. Gives our scripts the closed shadow roots that our program hands over, as if they were open.
 * The page does not see it: its world has getters of its own.
 */

const HOSTS_MAX = 1000;
const opened = new WeakMap();

/** Replaces a getter of our world. */
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

/** Where our world began after the scripts of the page, as in frames of other sites: custom elements may have closed roots. */
const mayHaveRoots = () =>
  [...document.querySelectorAll(':defined')].some(({ localName, shadowRoot }) => localName.includes('-') && shadowRoot === null);

globalThis.curbcutRoots = {
  /** Where closed roots are known to be: elements of the document, or the document if the page declares some. */
  places: () => (declared || (!isTold && mayHaveRoots()) ? [document] : [...hosts].filter((host) => host.isConnected)),
  open: (...roots) => {
    for (const root of roots) opened.set(root.host, root);
  },
};
