/**
 * Runs in the isolated world of every document, after axe-core. Waits until the document is quiet and its animations are finished.
 */

// `style` is not observed, because scripted animations change it all the time.
const OBSERVED = {
  subtree: true,
  childList: true,
  characterData: true,
  attributeFilter: ['class', 'hidden', 'open', 'src', 'href', 'role', 'lang', 'disabled', 'aria-hidden', 'aria-expanded', 'aria-label'],
};
/** A page that keeps changing is quiet enough when its content is the same after this time, in milliseconds. */
const RESTLESS_MS = 700;
/**
 * A document that has changed for `STREAK_MS` without a pause is quiet after a pause of `PAUSE_MS`. On a loaded machine the
 * changes of an animation are that far apart now and then.
 */
const STREAK_MS = 300;
const PAUSE_MS = 400;
/** How often the page is searched for the element of `waitFor`, in milliseconds. */
const SEARCH_MS = 50;
/** The time after loading, and after each change, in which timers and work are waited for, in milliseconds. */
const HORIZON_MS = 3000;
/** The frames that are waited for, because what the page draws in one may ask for the next. */
const FRAMES_MAX = 3;
/** The time that a frame in the page gets for each of them, because the browser draws none for those out of view. */
const INNER_FRAME_MS = 50;
/**
 * How much the browser may delay a timer to run it with others, in milliseconds. Chromium's is 8 (`kDefaultLeeway` in
 * base/task/sequence_manager).
 */
const LEEWAY_MS = 16;
/** The attributes of larger documents are not compared. */
const COMPARED_ELEMENTS = 20_000;
/** Attributes that change all the time, and never change what axe-core finds. */
const NO_CONTENT = /^(?:class|style|src|srcset|sizes|loading|width|height|d|transform|points|data-.*)$/;

/** The time of the last change, and of the first one without a pause before it. */
let changed = performance.now();
let since = changed;
function change() {
  const now = performance.now();
  if (now - changed > PAUSE_MS) since = now;
  changed = now;
}
/** When the document will be quiet, unless it changes again. */
const quietAt = (quietMs) => changed + (changed - since > STREAK_MS ? PAUSE_MS : quietMs);
// While it is parsed it changes all the time.
addEventListener('DOMContentLoaded', () => (since = changed = performance.now()), { once: true });
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

/** The time until which the timers of the page have run. On a loaded machine it is not the current time. */
let ran = 0;
/**
 * Timers run in the order in which they are due, so those that were due before this one have run, however late it is. But the
 * browser may run a timer up to `LEEWAY_MS` later than one with a short delay, which is precise.
 */
async function sleep(ms) {
  const due = performance.now() + Math.floor(ms);
  await later(ms);
  ran = due - 1 - LEEWAY_MS;
}

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
/** What the page waits for: its timers by the time when they are due, its work, what it draws, whether it observes scrolling. */
function watched() {
  if (record !== null) record.data = String(ran);
  record?.dispatchEvent(new Event('ask'));
  const [counts = '', ...timers] = (record?.data ?? '').split(',');
  const [scrolls = 0, shadowRoots = 0, posts = 0, work = 0, draws = 0] = counts.split(' ').map(Number);
  return {
    scrolls: scrolls > 0,
    shadowRoots,
    posts,
    work,
    draws,
    timers: timers.map((text) => text.split(' ').map(Number)).map(([delay, due]) => ({ delay, due })),
  };
}
/** Makes observers keep what they show in view: see `watch.js`. */
const keepInView = () => void record?.dispatchEvent(new Event('scroll'));

const hashes = new Map();
function hashOf(text) {
  let hash = hashes.get(text);
  if (hash !== undefined) return hash;
  hash = 7;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash, 31) + text.charCodeAt(at);
  hashes.set(text, hash);
  return hash;
}
const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && /\S/.test(node.data));

/** The elements of the document and its open shadow roots. */
const allElements = () => [document, ...roots].flatMap((root) => [...root.querySelectorAll('*')]);

/** A checksum of the visible elements, their kinds of attributes, and whether they have text. Their order does not matter. */
function reading() {
  const elements = allElements();
  if (elements.length > COMPARED_ELEMENTS) return String(elements.length);
  let sum = 0;
  let visible = 0;
  for (const element of elements) {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const attributes = element.getAttributeNames().filter((name) => !NO_CONTENT.test(name));
    sum = (sum + hashOf(`${element.localName} ${attributes.join(' ')} ${hasText(element)}`)) | 0;
    visible += 1;
  }
  return `${visible} ${sum}`;
}

/** The content before an additional wait; null if there was none. */
let before = null;
/** Keeps the content, for `found` of the waits that follow. */
function mark() {
  observeRoots();
  before = reading();
}

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

/** The content that was seen last: its checksum, when it was read, and since when it is the same. */
let view = null;
/** Reads the content again if the document has changed, at most every `RESTLESS_MS` unless this is the `last` time. */
function look(now, last) {
  if (view !== null && (changed <= view.at || (!last && now - view.at < RESTLESS_MS))) return;
  const text = reading();
  view = { text, at: now, since: view?.text === text ? view.since : now };
}

/** Waits for a frame. @returns whether the browser has drawn none in time. A frame in the page need not draw. */
function lacksFrame(ms) {
  const isTop = parent === globalThis;
  return Promise.race([frame().then(() => false), later(isTop ? ms : INNER_FRAME_MS).then(() => isTop)]);
}

/**
 * What the document is waited for now, and `until` when. It says whether the document is at work, whether that is waited for or a
 * timer is `awaited`, and whether the wait is over.
 * @param wait.isSearched whether the document still loads, or lacks the element that is waited for
 */
function assess(page, now, { quietMs, work, began, end, earliest, posted, isSearched }) {
  const quiet = Math.max(quietAt(quietMs), earliest, isSearched ? now + SEARCH_MS : 0);
  if (view !== null || page.timers.length + page.work > 0 || now - began > RESTLESS_MS) look(now, quiet <= now || now >= end);
  const horizon = Math.max(began, loaded ?? 0, view?.since ?? 0) + HORIZON_MS;
  const next = Math.min(...page.timers.map(({ due }) => due));
  const isWorking = page.work > 0 || posted + quietMs > now;
  const awaitsWork = work && isWorking && now < horizon;
  // The earliest timer may set the next one, or show the content that the page is waiting for.
  const awaited = awaitsWork ? now + SEARCH_MS : next <= horizon ? Math.max(next + LEEWAY_MS, now) + 1 : null;
  const until = Math.max(quiet, awaited ?? 0);
  const isRestless = quiet === quietAt(quietMs) && now - began > RESTLESS_MS && now - view.since >= RESTLESS_MS;
  return { until, isWorking, awaitsWork, awaited, isOver: until <= now || now >= end || (isRestless && awaited === null) };
}

/**
 * Resolves when the document is quiet (see `quietAt`), or after `capMs`. Pages without scripts are quiet immediately. It ends
 * before a meta refresh (or a Refresh header, in seconds) replaces the document.
 *
 * For `HORIZON_MS` after the document has loaded, and after each change of its content, it also waits for timers that are due by
 * then. With `work` it waits for work in the background, too. A document that keeps changing without showing more is not waited
 * for. `load`: it is waited for until it has loaded. `settleMs` is an additional wait. `waitFor` is a selector, for which it waits
 * up to `waitForMs`.
 * @returns as JSON:
 * - `redirects`: the document is about to redirect by a refresh of zero seconds
 * - `found`: the content has changed since `mark`
 * - `quiet`
 * - `worked` and `working`: work was waited for, and some is left
 * - `busy`: work or a timer is left
 * - `scrolls`: the page loads content when it is scrolled
 * - `matched`: true, false or a message
 */
async function settle(options) {
  const { quietMs, capMs, refresh = null, work = true, load = false, settleMs = 0, waitFor = '', waitForMs = 0 } = options;
  const delays = [refreshDelay(), refresh].filter((seconds) => seconds !== null);
  const state = { redirects: false, found: false, quiet: true, worked: false, working: false, busy: false, scrolls: false, matched: true };
  if (delays.some((seconds) => seconds <= 0)) return { ...state, redirects: true };
  const began = performance.now();
  const end = began + Math.min(capMs, Math.min(...delays) * 500);
  const isStatic = document.scripts.length === 0 && document.querySelector('iframe,frame') === null;
  if (!isStatic) observeRoots();
  const matched = () => waitFor === '' || matches(waitFor);
  state.matched = matched();
  if (isStatic && settleMs === 0 && (!load || loaded !== null)) return state;
  // Scripts that start requests on load, or after a response, need time to show the result.
  const earliest = Math.max(began, loaded ?? 0) + quietMs / 2 + settleMs;
  let { shadowRoots, posts } = watched();
  let posted = -quietMs;
  /** The frames that were waited for, and how often the page had asked to draw before the last one. */
  let frames = 0;
  let draws = 0;
  for (;;) {
    const now = performance.now();
    const page = watched();
    if (page.posts !== posts) {
      change();
      [posted, posts] = [now, page.posts];
    }
    const isSearched = (load && document.readyState !== 'complete') || (state.matched === false && now < Math.min(began + waitForMs, end));
    if (isSearched) {
      if (page.shadowRoots !== shadowRoots) observeRoots();
      state.matched = matched();
    }
    const { until, isWorking, awaitsWork, awaited, isOver } = assess(page, now, {
      quietMs,
      work,
      began,
      end,
      earliest,
      posted,
      isSearched,
    });
    state.worked ||= awaitsWork;
    if (!isOver) {
      await sleep(Math.max(1, Math.min(until, end) - now));
      continue;
    }
    // A shadow root that is new has changed the page.
    const isNew = page.shadowRoots !== shadowRoots && observeRoots();
    shadowRoots = page.shadowRoots;
    if (isNew && now < end) change();
    else if (now < end && frames < FRAMES_MAX && (frames === 0 ? page.scrolls || page.draws > 0 : page.draws > draws)) {
      draws = page.draws;
      frames += 1;
      if (await lacksFrame(end - now)) state.busy = true;
    } else {
      state.busy ||= isWorking || awaited !== null || page.timers.some(({ delay, due }) => delay > HORIZON_MS && due > now);
      const found = before !== null && reading() !== before;
      return { ...state, found, quiet: quietAt(quietMs) <= now, working: isWorking, scrolls: page.scrolls || hasLazyFrames() };
    }
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

const json = async (options) => JSON.stringify(await settle(options));
globalThis.curbcut = { ...globalThis.curbcut, settle: json, mark, still, frame, keepInView, allElements };
