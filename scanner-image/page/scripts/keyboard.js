/**
 * Runs in the isolated world after states.js. Walks through a page with the keyboard: tells our program which key to press, and judges
 * where the focus goes. It presses Tab and Shift+Tab only. Frames are stops, and what is in them is not judged.
 */

const { contentOf, isClipped, isDisplayed, isElement, isSeen, seenText, parentOf, nameOf, boxOf, attributeOf, roots, within } =
  globalThis.curbcutSeen;
const styleOf = (element, part) => getComputedStyle(element, part);
const matches = (element, selector) => Element.prototype.matches.call(element, selector);
const queryAll = (selector) => roots().flatMap((root) => [...root.querySelectorAll(selector)]);
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** More stops are not walked. */
const STOPS_MAX = 60;
/** An element that keeps the focus for more presses holds it. Parts of date fields and players take the focus one by one. */
const STAYS = { usual: 3, date: 8, player: 13 };
/** How long a page gets to show what it shows late, in milliseconds, and for how many stops if it shows nothing late. */
const LATE_MS = 300;
const LATE_TRIES = 3;
/** Longer than two waits for what the page does late, in milliseconds. */
const REPEATS_MS = 1000;
/** How long it may keep a mark after the focus has left, in milliseconds. */
const FADE_MS = 400;
/** More elements around a stop are not compared. */
const AROUND_MAX = 100;
const IN_WINDOW_MAX = 1000;
/** A form is sent a little after the focus. So the last stops are suspected too. */
const LAST_STOPS = 3;
const SUSPECTS_MAX = 5;
/** A frame in which the browser draws nothing, in milliseconds. */
const FRAME_MS = 100;

/** Their focus is inside them, or they draw it themselves. */
const OPAQUE = 'iframe, frame, object, embed, canvas, area, video, audio';
const DATES = ['date', 'datetime-local', 'month', 'time', 'week'].map((type) => `input[type="${type}"]`).join();
const NO_TEXT = ['button', 'checkbox', 'color', 'file', 'image', 'radio', 'range', 'reset', 'submit'];
/** They show a caret. */
const TEXT_FIELD = `textarea, input${NO_TEXT.map((type) => `:not([type="${type}" i])`).join('')}, [contenteditable]:not([contenteditable="false"])`;
const FOCUSABLE = 'a[href], button, input:not([type="hidden" i]), select, textarea, summary, [tabindex], [contenteditable]';
/** They may hold the focus until a person closes them. */
const DIALOG = 'dialog[open], [aria-modal="true"], [role="dialog"], [role="alertdialog"]';
const MODAL = ':modal, [aria-modal="true"]';
/** Names of links that skip what repeats on each page. */
const SKIPS = ['skip', 'jump', 'bypass', 'content', 'springe', 'inhalt', 'überspringen', 'contenu', 'passer', 'inhoud', 'overslaan'];
const SKIP_LINK = new RegExp(`(?<!\\p{L})(?:${[...SKIPS, 'naar', 'przejdź', 'treści', 'pomiń'].join('|')})`, 'iu');

/** What marks a focus, by the names of computed styles. */
const LOOKS = [
  ...['outline', 'border-top', 'border-right', 'border-bottom', 'border-left', 'background-color', 'background-image', 'background-size'],
  ...['background-position', 'color', 'box-shadow', 'text-decoration', 'opacity', 'visibility', 'display', 'transform', 'translate'],
  ...['scale', 'filter', 'clip', 'clip-path', 'width', 'height', 'left', 'top', 'right', 'bottom', 'margin-left', 'fill', 'stroke'],
  ...['stroke-width', 'font-weight', 'text-shadow', 'content', 'text-underline-offset'],
];

const isClear = (colour) => /^rgba\(.*, 0\)$|\/ 0\)$/.test(colour);

function hasOutline(element) {
  const { outlineStyle, outlineWidth, outlineColor } = styleOf(element);
  return outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 && !isClear(outlineColor);
}

/** The styles of an element and its pseudo-elements. An outline that cannot be seen is none. */
function lookOf(element) {
  const parts = [undefined, '::before', '::after'].map((part) => {
    const style = styleOf(element, part);
    if (part !== undefined && (style.content === 'none' || style.content === 'normal')) return '';
    return LOOKS.map((name) => (name === 'outline' && !hasOutline(element) ? '' : style.getPropertyValue(name))).join();
  });
  return parts.join('\n');
}

/** Whether people can scroll to a box. */
function isInPage({ left, top, right, bottom }) {
  const { scrollWidth, scrollHeight } = document.scrollingElement ?? document.documentElement;
  if (left + scrollX >= Math.max(innerWidth, scrollWidth) || top + scrollY >= Math.max(innerHeight, scrollHeight)) return false;
  return right + scrollX >= 0 && bottom + scrollY >= 0;
}

/**
 * Whether people see an element, or what is in it: the box of a link has no size around a picture that floats. Nothing hides an element
 * that is only empty, such as one whose picture did not load.
 */
const isShown = (element) =>
  isInPage(boxOf(element)) &&
  ((isDisplayed(element) && !isClipped(element)) ||
    [...contentOf(element)].some((node) => (isElement(node) ? isSeen(node) : seenText(node) !== null)));

/** The elements that label another one. */
function labelsOf(element) {
  const named = (attributeOf(element, 'aria-labelledby') ?? '').split(/\s+/).map((id) => id !== '' && document.getElementById(id));
  return [...(element.labels ?? []), ...named, Element.prototype.closest.call(element, 'label')].filter(Boolean);
}

/** The elements on which a page may mark a focus. */
function aroundOf(element, shown) {
  let top = element;
  const found = new Set([element, ...labelsOf(element)]);
  let depth = 0;
  within(element, (at) => {
    if (at === document.body) return true;
    found.add(at);
    if (depth++ <= 3) top = at;
    return false;
  });
  const add = (elements, max) => {
    for (const node of elements) {
      if (found.size >= max) return;
      if (isElement(node)) found.add(node);
    }
  };
  add(contentOf(top), AROUND_MAX);
  // Nothing of it is seen. So the page may mark it anywhere in the window.
  if (!shown) {
    const inWindow = ({ left, top, right, bottom }) => right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    add(
      [...contentOf(document.body)].filter((node) => isElement(node) && inWindow(boxOf(node))),
      IN_WINDOW_MAX,
    );
  }
  return [...found];
}

/** The box that stays in the window, around what is drawn above a point; null: the element itself, its label, or what scrolls. */
function coverAt(element, labels, x, y) {
  let hit = document.elementFromPoint(x, y);
  for (let inner = hit; inner?.shadowRoot; hit = inner ?? hit) {
    inner = inner.shadowRoot.elementFromPoint(x, y);
    if (inner === hit) break;
  }
  if (hit === null || within(hit, (at) => at === element || labels.includes(at)) || within(element, (at) => at === hit)) return null;
  let opaque = false;
  let cover = null;
  within(hit, (at) => {
    const { position, backgroundColor, backgroundImage } = styleOf(at);
    opaque ||= !isClear(backgroundColor) || backgroundImage !== 'none' || matches(at, 'img, video, canvas, iframe');
    if (position === 'fixed' || position === 'sticky') cover = at;
    return cover !== null;
  });
  return opaque && cover !== null && !within(element, (at) => at === cover) ? cover : null;
}

/** Whether all of an element that is in the window is under boxes that stay there. */
function isObscured(element) {
  if (queryAll(MODAL).some(isSeen)) return false;
  const { left, top, width, height } = boxOf(element);
  const labels = labelsOf(element);
  const parts = [0.02, 0.25, 0.5, 0.75, 0.98];
  const points = parts.flatMap((across) => parts.map((down) => [left + width * across, top + height * down]));
  const inWindow = points.filter(([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight);
  return inWindow.length > 0 && inWindow.every(([x, y]) => coverAt(element, labels, x, y) !== null);
}

const focusOn = (element) =>
  (element instanceof SVGElement ? SVGElement : HTMLElement).prototype.focus.call(element, { preventScroll: true });
function blur() {
  const { activeElement: at } = document;
  if (at !== null) (at instanceof SVGElement ? SVGElement : HTMLElement).prototype.blur.call(at);
}

/** Where the focus is; null: nowhere. */
function focused() {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at === document.body || at === document.documentElement ? null : at;
}

/** What people see and the keyboard should reach: not one of several radio buttons, and nothing that is out of the order on purpose. */
const reachable = () =>
  queryAll(FOCUSABLE).filter(
    (element) =>
      element.tabIndex >= 0 &&
      !matches(element, `:disabled, [type="radio" i], ${OPAQUE}`) &&
      isSeen(element) &&
      isInPage(boxOf(element)) &&
      !within(element, (at) => at.inert || (at.shadowRoot && at !== element && Number(attributeOf(at, 'tabindex') ?? 0) < 0)) &&
      (nameOf(element) !== 'summary' || parentOf(element)?.querySelector(':scope > summary') === element),
  );

const staysOf = (element) => {
  // The focus may be in what scripts cannot see.
  if (matches(element, OPAQUE) || (nameOf(element).includes('-') && element.shadowRoot === null))
    return matches(element, 'video, audio') ? STAYS.player : Infinity;
  return matches(element, DATES) ? STAYS.date : STAYS.usual;
};

/** The walk through the page; null before the first. */
let walk = null;

function begin() {
  const own = new AbortController();
  const on = (target, type, listener) => target.addEventListener(type, listener, { capture: true, signal: own.signal });
  const scrollers = new Map([[document.scrollingElement ?? document.documentElement, [scrollX, scrollY]]]);
  const wanted = reachable();
  for (const element of wanted)
    within(element, (at) => {
      if (at.scrollHeight > at.clientHeight || at.scrollWidth > at.clientWidth) scrollers.set(at, [at.scrollLeft, at.scrollTop]);
      return false;
    });
  walk = {
    ...{ own, scrollers, wanted, was: focused(), stops: new Map(), presses: 0, left: 0, windows: 0, gone: false, received: null },
    ...{
      removed: new Set(),
      suspects: new Set(),
      moved: new Set(),
      led: false,
      tries: 0,
      late: false,
      first: null,
      trap: null,
      complete: false,
    },
  };
  on(window, 'blur', ({ target }) => target === window && (walk.gone = true));
  on(window, 'focus', (event) => {
    if (event.target === window) walk.gone = false;
    else walk.received = event.composedPath()[0];
  });
  // Another document would end the test of this one.
  on(navigation, 'navigate', (event) => {
    if (event.destination.sameDocument || event.downloadRequest !== null) return;
    if (event.cancelable) event.preventDefault();
    lead();
  });
  walk.keys = keys();
}

/** Notes that another page or a window was to be opened. */
function lead() {
  walk.led = true;
  for (const element of [focused() ?? walk.received, ...[...walk.stops.keys()].slice(-LAST_STOPS)])
    if (element !== null && walk.suspects.size < SUSPECTS_MAX) walk.suspects.add(element);
}

/** The keys of the walk, one after the other; '' waits for a frame. Each gives the place of the focus. */
async function* keys() {
  const how = yield* round('Tab');
  walk.complete = how === 'complete';
  if (how === 'limit') walk.left = unreached().length;
  if (walk.complete && unreached().length > 0) walk.complete = (yield* round('Shift+Tab')) === 'complete';
  // A timer may have done it, or one of the stops before. One that repeats fires within the first of these waits, or not in both of the others.
  if (walk.suspects.size === 0 || (yield* isLedAway(null, REPEATS_MS))) return;
  for (const element of walk.suspects) if ((yield* isLedAway(element)) && (yield* isLedAway(element))) walk.moved.add(element);
}

/** Whether the page opens another one, or a window, after an element receives the focus. Null: without a focus. */
async function* isLedAway(element, ms = LATE_MS) {
  blur();
  walk.led = false;
  if (element !== null) focusOn(element);
  await later(ms);
  yield '';
  return walk.led;
}

/** Goes through the page with a key, up to the end of the page and from the other end to where it began. @returns how it ended */
async function* round(key) {
  const way = [];
  /** The last stop, how often it kept the focus, and how many stops were before the end of the page. */
  let [before, stayed, atEndAfter] = [null, 0, null];
  for (let count = 0; count <= STOPS_MAX; count++) {
    const { element, atEnd } = yield key;
    if (atEnd) {
      if (atEndAfter !== null) return 'complete';
      atEndAfter = way.length;
    } else if (element !== null && element === before) {
      stayed += 1;
      if (stayed < staysOf(element)) continue;
      if (!isInDialog([element]) && (yield* isHeld([element], stayed))) walk.trap = element;
      return 'stuck';
    } else if (way.includes(element)) {
      const from = way.indexOf(element);
      if (atEndAfter !== null && from < atEndAfter) return 'complete';
      const cycle = way.slice(from);
      if (!isInDialog(cycle) && unreached().length > 0 && (yield* isHeld(cycle, cycle.length + 1))) walk.trap = way.at(-1);
      return 'cycle';
    } else if (element !== null) {
      if (count === STOPS_MAX) return 'limit';
      if (atEndAfter !== null) walk.first ??= element;
      way.push(element);
      await examine(element);
    }
    [before, stayed] = [element, 0];
  }
  return 'limit';
}

/** Whether Shift+Tab leaves elements no more than Tab does. */
async function* isHeld(elements, times) {
  for (let left = times; left > 0; left--) if (!elements.includes((yield 'Shift+Tab').element)) return false;
  return true;
}

const isInDialog = (elements) =>
  elements.some((element) => within(element, (at) => matches(at, DIALOG))) || queryAll(MODAL).some((one) => isSeen(one));
const unreached = () => walk.wanted.filter((element) => !walk.stops.has(element));

/** Adds a stop. @returns null if it is known */
function stopAt(element) {
  if (walk.stops.has(element)) return null;
  const presses = walk.complete ? null : walk.presses;
  const stop = { presses, scroll: [scrollX, scrollY], looks: null, shown: true, labelled: true, obscured: false };
  walk.stops.set(element, stop);
  return stop;
}

/** Remembers what tells later whether people see a stop. */
async function examine(element) {
  const stop = stopAt(element);
  if (stop === null || element.tabIndex < 0 || matches(element, OPAQUE)) return;
  const look = () => {
    for (const animation of document.getAnimations()) if (animation instanceof CSSTransition) animation.finish();
    stop.shown = isShown(element);
    stop.labelled = stop.shown || labelsOf(element).some(isShown);
    stop.obscured = stop.shown && isObscured(element);
    return stop.labelled && !stop.obscured;
  };
  if (!look() && (walk.late || walk.tries < LATE_TRIES)) {
    walk.tries += 1;
    await later(LATE_MS);
    walk.late ||= look();
  }
  if (stop.shown && (matches(element, TEXT_FIELD) || hasOutline(element))) return;
  // Of a hidden stop, what is around it may be hidden too.
  const isSeenThere = stop.shown ? isDisplayed : isShown;
  const seen = aroundOf(element, stop.labelled).filter(isSeenThere);
  stop.looks = seen.map((other) => [other, lookOf(other)]);
}

/** After a key: waits for a frame, and returns the next key; null: there is none. @param windows how many the page has opened */
async function next(windows) {
  if (walk === null) begin();
  else {
    walk.presses += 1;
    await Promise.race([new Promise(requestAnimationFrame), later(FRAME_MS)]);
  }
  const element = focused();
  const atEnd = element === null && walk.gone;
  if (element === null && !atEnd && walk.received !== null) {
    walk.removed.add(walk.received);
    stopAt(walk.received);
  }
  if (windows > walk.windows && walk.presses > 0) lead();
  walk.windows = windows;
  walk.received = null;
  const { value, done } = await walk.keys.next({ element, atEnd });
  return done ? null : value;
}

/** Whether nothing that people see says that a stop has the focus. */
const isUnmarked = ({ looks }) => looks !== null && !looks.some(([element, look]) => !element.isConnected || lookOf(element) !== look);

function brokenSkipLink(element) {
  const href = element === null || nameOf(element) !== 'a' ? null : attributeOf(element, 'href');
  if (!/^#[^/!]/.test(href ?? '') || href === '#top') return false;
  if (!SKIP_LINK.test(attributeOf(element, 'aria-label') ?? element.textContent)) return false;
  const names = [href.slice(1)];
  try {
    names.push(decodeURIComponent(names[0]));
  } catch {
    // Not in UTF-8, such as %E9: browsers find only what has that name as it stands.
  }
  return names.every((name) => document.getElementById(name) === null && document.getElementsByName(name).length === 0);
}

/** What the walk found, as JSON. @param total limits the HTML of the results, in characters */
async function walked(total) {
  const { stops, trap, complete, removed, moved, left, was } = walk;
  const firstStop = walk.first ?? (was === null ? ([...stops.keys()][0] ?? null) : null);
  blur();
  const of = (holds) => [...stops].filter(([element, stop]) => element.isConnected && holds(stop)).map(([element]) => element);
  if (of(isUnmarked).length > 0) await later(FADE_MS);
  const unmarked = new Set(of(isUnmarked));
  const notReached = complete && queryAll(DIALOG).every((one) => !isSeen(one)) ? unreached() : [];
  const now = new Set(reachable());
  const violations = [
    ['focus-on-hidden', of((stop) => !stop.labelled).filter((element) => unmarked.has(element))],
    ['focus-moves', [...moved]],
    ['focus-not-reached', complete ? [...removed].filter((element) => isShown(element)) : []],
  ];
  const review = [
    ['keyboard-trap', trap === null ? [] : [trap]],
    ['focus-not-visible', of((stop) => stop.labelled).filter((element) => unmarked.has(element))],
    ['focus-obscured', of((stop) => stop.obscured)],
    ['focus-not-reached', notReached.filter((element) => now.has(element))],
    ['skip-link-target', brokenSkipLink(firstStop) ? [firstStop] : []],
  ];
  const results = globalThis.curbcutStates.resultsOf(violations, review, total);
  const times = globalThis.curbcutStates.pathsOf((element) => stops.get(element)?.presses);
  return JSON.stringify({ ...JSON.parse(results), times, stops: stops.size, left });
}

/** Gives a stop of the walk the focus that it had there. @returns false if it is none */
function focus(element) {
  const stop = walk?.stops.get(element);
  if (stop === undefined) return false;
  scrollTo({ left: stop.scroll[0], top: stop.scroll[1], behavior: 'instant' });
  focusOn(element);
  return true;
}

/** Gives the page the focus and the places that it had before the walk. */
function endWalk() {
  if (walk === null) return;
  const { own, scrollers, was } = walk;
  if (was === null) blur();
  else focusOn(was);
  for (const [element, [left, top]] of scrollers) Element.prototype.scrollTo.call(element, { left, top, behavior: 'instant' });
  own.abort();
  walk = null;
}

globalThis.curbcutWalk = { focus };
globalThis.curbcut = { ...globalThis.curbcut, nextKey: next, walked, endWalk };
