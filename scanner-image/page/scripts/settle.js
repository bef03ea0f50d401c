/**
 * Runs in the isolated world of every document, after axe-core. Waits until the document seems at rest, finishes its animations, and
 * says whether it has changed for a visitor since its test.
 */

// `style` is not observed, because scripted animations change it all the time. What they change for a visitor, the next look sees.
const OBSERVED = {
  subtree: true,
  childList: true,
  characterData: true,
  attributeFilter: ['class', 'hidden', 'open', 'src', 'href', 'role', 'lang', 'disabled', 'aria-hidden', 'aria-expanded', 'aria-label'],
};
/** A page that changes without a pause is tested this long after it has loaded, in milliseconds. The next look tells what it missed. */
const RESTLESS_MS = 1500;
/** How often the page is searched for the element of `waitFor`, in milliseconds. */
const SEARCH_MS = 50;
/** The time after loading in which timers are waited for, in milliseconds. */
const HORIZON_MS = 3000;
/** A step of `rest`, in milliseconds. */
const TURN_MS = 100;
/** The time that a frame in the page gets to be drawn, because the browser draws none of those out of view. */
const INNER_FRAME_MS = 50;
/** Attributes that change all the time, and never change what axe-core finds. */
const NO_CONTENT = /^(?:class|style|src|srcset|sizes|loading|width|height|d|transform|points|data-.*)$/;
/** Sides up to this length are compared, in CSS pixels. No rule tells larger ones apart. */
const SMALL_SIDE = 48;

// Fields of a form hide the properties of their names.
const { checkVisibility, getAttribute, getAttributeNames, getBoundingClientRect, querySelector } = Element.prototype;
const getterOf = (name) => Object.getOwnPropertyDescriptor(Node.prototype, name).get;
const [firstChildOf, nextSiblingOf] = ['firstChild', 'nextSibling'].map(getterOf);

/** The types of scripts that the browser runs. */
const RUNS = /^\s*(?:|module|(?:text|application)\/(?:x-)?(?:j|java|ecma|live)script[\d.]*)\s*$/i;
/** Data in a script, which differs from page to page where the script does not. */
const DATA = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\b\d[\w.]*/g;

/** The time of the last change. */
let changed = performance.now();
/** Whether a script has left the document, as one that removes itself. */
let hadScript = false;
function change(records = []) {
  changed = performance.now();
  for (const { removedNodes } of records)
    for (const node of removedNodes)
      hadScript ||= node instanceof Element && (node.localName === 'script' || querySelector.call(node, 'script') !== null);
}
// While it is parsed it changes all the time.
addEventListener('DOMContentLoaded', () => change(), { once: true });
let loaded = document.readyState === 'complete' ? changed : null;
addEventListener('load', () => (loaded = performance.now()), { once: true });
const observer = new MutationObserver(change);
observer.observe(document, OBSERVED);

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves after the browser has rendered the page once and has told its observers what is in view: this one is among them. */
const frame = () =>
  new Promise((resolve) => {
    const drawn = new IntersectionObserver(() => {
      drawn.disconnect();
      // The page's observers may be called after this one.
      setTimeout(resolve, 1);
    });
    drawn.observe(document.documentElement ?? document.createElement('p'));
  });

/** Open shadow roots that are observed. */
const roots = [];
const known = new WeakSet();
/** Observes new shadow roots. @returns true if there was one */
function observeRoots() {
  const before = roots.length;
  const search = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const { shadowRoot } = node;
      if (shadowRoot === null || known.has(shadowRoot)) continue;
      known.add(shadowRoot);
      roots.push(shadowRoot);
      observer.observe(shadowRoot, OBSERVED);
      search(shadowRoot);
    }
  };
  search(document);
  for (const root of roots.slice(0, before)) search(root);
  return roots.length > before;
}

/** The node in which `watch.js` records what the page waits for; null where the page runs no scripts. */
let record = null;
addEventListener('curbcut', (event) => (record ??= event.relatedTarget), { once: true });
/** What the page waits for: its timers, whether it observes scrolling, and its workers. */
function watched() {
  record?.dispatchEvent(new Event('ask'));
  const [[scrolls = 0, shadowRoots = 0, workers = 0, silent = 0], ...timers] = (record?.data ?? '')
    .split(',')
    .map((text) => text.split(' ').map(Number));
  return {
    scrolls: scrolls > 0,
    workers: workers > 0,
    awaitsWorker: silent > 0,
    shadowRoots,
    timers: timers.map(([due, delay]) => ({ due, delay })),
  };
}
/** Makes observers keep what they show in view: see `watch.js`. */
const keepInView = () => void record?.dispatchEvent(new Event('scroll'));

function hashOf(text) {
  let hash = 7;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash, 31) + text.charCodeAt(at);
  return hash;
}

/** The elements of the document and its open shadow roots. */
const allElements = () => [document, ...roots].flatMap((root) => [...root.querySelectorAll('*')]);

/** Clocks and counters change their digits only. */
const withoutDigits = (text) => text.replaceAll(/\d+/g, '0').trim();

/** The text of an element itself. */
function ownText(element) {
  let text = '';
  for (let node = firstChildOf.call(element); node !== null; node = nextSiblingOf.call(node)) if (node instanceof Text) text += node.data;
  return withoutDigits(text);
}

/** Elements that nobody perceives. */
const NO_PART = /^(?:script|noscript|style|link|template)$/;
const VISIBLE = { opacityProperty: true, visibilityProperty: true };

/** What a visitor perceives of an element: its kind, its names and states, its text with colours and size. */
function perceived(element) {
  const attributes = getAttributeNames
    .call(element)
    .filter((name) => !NO_CONTENT.test(name))
    .map((name) => `${name}=${withoutDigits(getAttribute.call(element, name))}`);
  const { color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, textDecorationLine } = getComputedStyle(element);
  const styles = [color, backgroundColor, backgroundImage === 'none', opacity, fontSize, fontWeight, textDecorationLine];
  const { width, height } = getBoundingClientRect.call(element);
  const sides = [width, height].map((side) => Math.min(Math.round(side), SMALL_SIDE));
  return [element.localName, ...attributes, ownText(element), checkVisibility.call(element, VISIBLE), ...styles, ...sides].join(' ');
}

/** A checksum of what a visitor perceives of the document. The order of its elements does not matter. */
function reading() {
  observeRoots();
  const elements = allElements();
  let sum = 0;
  // Also those that cannot be seen: hidden texts may be names.
  for (const element of elements) if (!NO_PART.test(element.localName)) sum = (sum + hashOf(perceived(element))) | 0;
  return `${elements.length} ${sum}`;
}

/** What the document showed when its test, or scrolling, began; empty before that. */
let seen = '';
const remember = () => void (seen = reading());
/** Whether a visitor perceives something else than at that time. */
const hasChanged = () => reading() !== seen;

/** Whether an element of the document or its shadow roots matches. @returns the browser's message if the selector is invalid */
function matches(selector) {
  try {
    return [document, ...roots].some((root) => root.querySelector(selector) !== null);
  } catch (error) {
    return error.message;
  }
}

/** Whether a frame that loads only in view is in the document or its shadow roots. */
const hasLazyFrames = () => [document, ...roots].some((root) => root.querySelector('iframe[loading="lazy" i]') !== null);

/** Waits for a frame, within a limit. */
const drawn = (ms) => Promise.race([frame(), later(parent === globalThis ? ms : INNER_FRAME_MS)]);

/**
 * Resolves when the document seems at rest: it has not changed for `quietMs`, and no timer is due within `HORIZON_MS` after it has
 * loaded; or after `capMs`. Pages without scripts are quiet immediately. It ends before a meta refresh (or a Refresh header, in
 * seconds) replaces the document.
 *
 * `load`: it is waited for until it has loaded. `settleMs` is an additional wait. `waitFor` is a selector, for which it waits up to
 * `waitForMs`.
 * @returns as JSON:
 * - `redirects`: the document is about to redirect by a refresh of zero seconds
 * - `found`: the content has changed since `remember`
 * - `scrolls`: the page loads content when it is scrolled
 * - `workers`: it has started one
 * - `ran`, `scripts`: whether scripts ran, and the names of those in the document
 * - `matched`: true, false or a message
 */
async function settle(options) {
  const { quietMs, capMs, refresh = null, load = false, settleMs = 0, waitFor = '', waitForMs = 0 } = options;
  const delays = [refreshDelay(), refresh].filter((seconds) => seconds !== null);
  const state = { redirects: false, found: false, scrolls: false, workers: false, matched: true, ran: false, scripts: [] };
  if (delays.some((seconds) => seconds <= 0)) return { ...state, redirects: true };
  const began = performance.now();
  const end = began + Math.min(capMs, Math.min(...delays) * 500);
  const matched = () => waitFor === '' || matches(waitFor);
  state.matched = matched();
  const ran = ranScripts();
  const isAtRest = !ran && document.querySelector('iframe,frame') === null;
  if (isAtRest && settleMs === 0 && (!load || loaded !== null)) return state;
  observeRoots();
  // Scripts that start requests on load, or after a response, need time to show the result.
  const earliest = Math.max(began, loaded ?? 0) + quietMs / 2 + settleMs;
  let { shadowRoots } = watched();
  let isDrawn = false;
  for (;;) {
    const now = performance.now();
    const page = watched();
    const since = Math.max(began, loaded ?? 0);
    const isSearched = (load && document.readyState !== 'complete') || (state.matched === false && now < Math.min(began + waitForMs, end));
    if (isSearched) {
      if (page.shadowRoots !== shadowRoots) observeRoots();
      state.matched = matched();
    }
    const quiet = Math.max(Math.min(changed + quietMs, since + RESTLESS_MS), earliest, isSearched ? now + SEARCH_MS : 0);
    // The earliest timer may set the next one, or show the content that the page is waiting for.
    const next = page.timers.reduce((first, { due }) => Math.min(first, due), Infinity);
    const until = Math.max(quiet, next <= since + HORIZON_MS ? Math.max(next, now) + 1 : 0);
    if (until > now && now < end) {
      await later(Math.max(1, Math.min(until, end) - now));
      continue;
    }
    // A shadow root that is new has changed the page.
    const isNew = page.shadowRoots !== shadowRoots && observeRoots();
    shadowRoots = page.shadowRoots;
    if (isNew && now < end) change();
    else if (now < end && !isDrawn) {
      isDrawn = true;
      await drawn(end - now);
    } else {
      return {
        ...state,
        found: seen !== '' && hasChanged(),
        scrolls: page.scrolls || hasLazyFrames(),
        workers: page.workers,
        ran: ran || ranScripts(),
        scripts: scriptNames(),
      };
    }
  }
}

/** The scripts of the document that the browser runs. */
const scripts = () => [...document.querySelectorAll('script')].filter((script) => RUNS.test(getAttribute.call(script, 'type') ?? ''));
/** Whether scripts ran: also those of attributes, and those that removed themselves. */
const ranScripts = () =>
  hadScript ||
  scripts().length > 0 ||
  allElements().some((element) => getAttributeNames.call(element).some((name) => name.startsWith('on')));
/** Names the scripts in the document by what they do. */
const scriptNames = () => [...new Set(scripts().map(({ src, textContent }) => src || hashOf(textContent.replaceAll(DATA, ''))))];

/**
 * What may still change the document.
 * @returns 3: a worker has sent nothing yet, or a timer is left that is longer than timers are waited for. 2: another timer. 1: an
 * interval. Else 0.
 */
function pends() {
  const { timers, awaitsWorker } = watched();
  if (awaitsWorker || timers.some(({ delay }) => delay > HORIZON_MS)) return 3;
  if (timers.some(({ due }) => due < Infinity)) return 2;
  return Math.min(timers.length, 1);
}

/**
 * Waits in turns of the page's own event loop, so that the wait is longer where the machine is slow.
 * @param ms the time on a machine that is not
 * @returns false if `limitMs` were over before
 */
async function rest(ms, limitMs) {
  const began = performance.now();
  for (let turns = Math.ceil(ms / TURN_MS); turns > 0; turns--) {
    if (performance.now() - began + TURN_MS > limitMs) return false;
    await later(TURN_MS);
  }
  return true;
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

const json = async (options) => JSON.stringify(await settle(options));
globalThis.curbcut = {
  ...globalThis.curbcut,
  settle: json,
  remember,
  hasChanged,
  ranScripts,
  pends,
  rest,
  still,
  frame,
  keepInView,
  allElements,
};
