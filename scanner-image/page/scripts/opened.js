/** Runs in the isolated world after states.js. What opens by keyboard, and what appears then. */

const { contentOf, isElement, isSeen, attributeOf, nameOf, within, allSeen, containerOf } = globalThis.curbcutSeen;

/** What a tab that is sealed may not do. A policy in the document also holds for what its scripts add. */
const POLICY = "connect-src 'none'; worker-src 'none'; form-action 'none'";

/** @returns whether the document is sealed: it must have a head */
function seal() {
  if (!(document.head instanceof HTMLHeadElement)) return document.scripts.length === 0;
  const meta = document.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = POLICY;
  document.head.append(meta);
  meta.remove();
  return true;
}

const TRIGGERS = [
  ...['details:not([open]) > summary', '[aria-expanded="false"]', '[role="tab"][aria-selected="false"]', '[popovertarget]'],
  ...['show-modal', 'show-popover', 'toggle-popover'].map((command) => `[commandfor][command="${command}"]`),
  '[aria-haspopup]:not([aria-haspopup="false"])',
].join();
const CONSENT = /cookie|consent|gdpr|onetrust|didomi|usercentrics/i;
/** A longer name is cut. */
const NAME_MAX = 60;

const matches = (element, selector) => Element.prototype.matches.call(element, selector);
const isIn = (element, selector) => within(element, (at) => matches(at, selector));
const activeElement = () => {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
};

/** Whether an element is part of a question for consent. The page itself only says how that was answered, such as `cookies-not-set`. */
const isConsent = (at) =>
  !['html', 'body'].includes(nameOf(at)) && ['id', 'class'].some((name) => CONSENT.test(attributeOf(at, name) ?? ''));

/** Whether an element may do more than open something. */
function acts(element) {
  const name = nameOf(element);
  if (isIn(element, '[data-curbcut-skip]') || within(element, isConsent)) return true;
  if (name === 'a' || name === 'area') return !/^(?:#.*)?$/s.test(attributeOf(element, 'href') ?? '');
  if (name === 'button') return element.form !== null && element.type !== 'button';
  return name === 'input' && /^(?:submit|reset|image|file)$/.test(element.type);
}

function kindOf(element) {
  const popup = attributeOf(element, 'aria-haspopup');
  if (attributeOf(element, 'role') === 'tab') return 'tab';
  if (popup === 'dialog' || attributeOf(element, 'command') === 'show-modal') return 'dialog';
  return popup === null || popup === 'listbox' || popup === 'grid' || popup === 'tree' ? 'part' : 'menu';
}

/** Enter in a field could send its form. */
function keysOf(element) {
  const isField = ['input', 'textarea', 'select'].includes(nameOf(element)) || element.isContentEditable === true;
  if (isField) return ['ArrowDown'];
  return ['Enter', 'Space', ...(attributeOf(element, 'aria-haspopup') === null ? [] : ['ArrowDown'])];
}

let triggers = [];

/** What seems to open something, in the order of the document, as JSON. */
function findTriggers() {
  triggers = [];
  for (const node of contentOf(document))
    if (isElement(node) && matches(node, TRIGGERS) && !matches(node, ':disabled, [aria-disabled="true"]') && isSeen(node))
      triggers.push(node);
  if (triggers.length === 0) return '[]';
  axe.setup(document);
  try {
    return JSON.stringify(
      triggers.map((element) => {
        const name = axe.commons.text.accessibleText(element).replaceAll(/\s+/g, ' ').trim();
        const classes = [...element.classList].sort().join('.');
        return {
          name: (name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name).toWellFormed(),
          shape: [nameOf(element), attributeOf(element, 'role') ?? '', classes].join(' '),
          selector: [axe.utils.getSelector(element)].flat().join(' '),
          acts: acts(element),
          kind: kindOf(element),
          keys: keysOf(element),
        };
      }),
    );
  } finally {
    axe.teardown();
  }
}

let before = new Set();
let roots = [];

/** Focuses a trigger. @returns whether a key goes to it */
function focusTrigger(at) {
  const element = triggers[at];
  if (!element.isConnected || !isSeen(element)) return false;
  HTMLElement.prototype.focus.call(element, { preventScroll: true });
  return activeElement() === element;
}

/** What has appeared since `rememberShown`, as a fingerprint; null if nothing has. */
function appeared() {
  const now = allSeen();
  const fresh = new Set([...now].filter((element) => !before.has(element)));
  roots = [...fresh].filter((element) => !fresh.has(containerOf(element)));
  if (roots.length === 0) return null;
  return [...fresh].map(nameOf).join(' ');
}

/** Tests what has appeared. A box that scrolls and has the focus inside can be scrolled by keys. */
async function testAppeared(options, total) {
  const results = JSON.parse(await globalThis.curbcut.run(options, total, { include: roots.filter(({ isConnected }) => isConnected) }));
  const focused = activeElement();
  const isFocused = ({ target }) => {
    const found = [target].flat(2).reduce((root, step) => (root?.shadowRoot ?? root)?.querySelector(step) ?? null, document);
    return found !== null && within(focused, (at) => at === found);
  };
  for (const list of ['violations', 'incomplete'])
    for (const rule of results[list])
      if (rule.id === 'scrollable-region-focusable') rule.nodes = rule.nodes.filter((node) => !isFocused(node));
  return JSON.stringify(results);
}

globalThis.curbcut = {
  ...globalThis.curbcut,
  seal,
  findTriggers,
  focusTrigger,
  rememberShown: () => void (before = allSeen()),
  appeared,
  testAppeared,
  /** Whether the page shows what it showed before. */
  isClosed() {
    const now = allSeen();
    return now.size === before.size && [...now].every((element) => before.has(element));
  },
  /** Whether a modal dialog is open, which keeps the rest of the page from being used. */
  hasModal: () => document.querySelector(':modal') !== null || [...allSeen()].some((element) => matches(element, '[aria-modal="true"]')),
};
