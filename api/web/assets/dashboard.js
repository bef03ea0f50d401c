/**
 * Refreshes parts of the dashboard. `data-fragment` is the address of a part's new state, which is read every `data-seconds`,
 * and with `data-events` when an event of the server says that it changed. `data-load` is the address of a part that is
 * read once. Hidden pages wait, failures are retried more and more slowly, and the end of the session ends everything.
 */
import { showTimes } from './times.js';
import { announce, enableCopying, enableDialogs, SLOWEST_SECONDS, visible, wait } from './site.js';

/** The minimum interval between two reads, also if events arrive faster. In seconds. */
const FASTEST_SECONDS = 1;
const LOAD_ATTEMPTS = 3;
/** Answers that stay the same: the session has ended, the person may not read it, or it does not exist. */
const FINAL = new Set([401, 403, 404, 405]);

function enable(elements) {
  for (const element of elements) {
    const parent = element.parentElement ?? element;
    enableCopying(element.matches('[data-copy]') ? parent : element);
    enableDialogs(element.matches('[data-confirm]') ? parent : element);
  }
}

async function read(address, etag) {
  try {
    const headers = { Accept: 'text/html', ...(etag && { 'If-None-Match': etag }) };
    const response = await fetch(address, { headers, cache: 'no-store', redirect: 'error' });
    if (response.status === 304) return { state: 'same' };
    if (FINAL.has(response.status)) return { state: 'final' };
    if (!response.ok) return { state: 'failed' };
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    showTimes(next);
    return { state: 'new', etag: response.headers.get('etag'), document: next };
  } catch {
    return { state: 'failed' };
  }
}

/** Wakes the loop of a part when its scan changes. Browsers reconnect by themselves; if they give up, the loop still polls. */
function follow(address) {
  let wake = () => {};
  if (!address) return { next: () => new Promise(() => {}), close: () => {} };
  const events = new EventSource(address);
  let pending = false;
  events.onmessage = (event) => {
    pending = true;
    wake();
    if (JSON.parse(event.data).event === 'complete') events.close();
  };
  return {
    next: () =>
      new Promise((resolve) => {
        wake = () => {
          pending = false;
          resolve();
        };
        if (pending) wake();
      }),
    close: () => events.close(),
  };
}

async function refresh(part) {
  const { fragment, events: address } = part.dataset;
  const events = follow(address);
  let etag = null;
  let slower = 1;
  for (;;) {
    const seconds = Math.min(SLOWEST_SECONDS, Number(part.dataset.seconds) * slower);
    await wait(FASTEST_SECONDS);
    await Promise.race([wait(seconds - FASTEST_SECONDS), slower === 1 ? events.next() : wait(seconds)]);
    await visible();
    const answer = await read(fragment, etag);
    slower = answer.state === 'failed' ? slower * 2 : 1;
    if (answer.state === 'final') break;
    if (answer.state !== 'new') continue;
    etag = answer.etag;
    const next = answer.document.getElementById(part.id);
    if (next === null) break;
    if (next.dataset.ended !== undefined) {
      events.close();
      return void showEnd();
    }
    const before = part.dataset.announce;
    enable(patch(part, next));
    if (next.dataset.announce && next.dataset.announce !== before) announce(next.dataset.announce);
  }
  events.close();
  announce(document.getElementById('main').dataset.stopped);
}

/** Shows the page of a scan that has ended, without moving the focus. */
async function showEnd() {
  for (let attempt = 0; attempt < LOAD_ATTEMPTS; attempt += 1) {
    const answer = await read(location.href, null);
    const next = answer.document?.querySelector('main');
    if (next) {
      document.title = answer.document.title;
      enable(patch(document.querySelector('main'), next));
      announce(document.title);
      loadParts();
      return;
    }
    await wait(2 ** attempt);
  }
}

async function load(part) {
  const address = part.dataset.load;
  part.removeAttribute('data-load');
  for (let attempt = 0; attempt < LOAD_ATTEMPTS; attempt += 1) {
    const answer = await read(address, null);
    const next = answer.document?.getElementById(part.id);
    if (next) return void enable(patch(part, next));
    if (answer.state === 'final') return;
    await wait(2 ** attempt);
  }
}

function loadParts() {
  for (const part of document.querySelectorAll('[data-load]')) void load(part);
}

/**
 * Changes elements to a new state with as few changes as possible: what stays the same keeps its focus, its open details and
 * its scroll position. Children with ids are matched by their ids.
 * @returns the elements that are new in the document
 */
function patch(old, next) {
  const fresh = [];
  patchNode(old, next, fresh);
  return fresh;
}

function patchNode(old, next, fresh) {
  // Scripts change buttons that copy.
  if (old.isEqualNode(next) || (old.dataset?.copy !== undefined && old.dataset.copy === next.dataset?.copy)) return;
  if (old.nodeName !== next.nodeName || old.nodeType !== Node.ELEMENT_NODE || old.id !== next.id) {
    old.replaceWith(next);
    if (next.nodeType === Node.ELEMENT_NODE) fresh.push(next);
    return;
  }
  patchAttributes(old, next);
  patchChildren(old, [...next.childNodes], fresh);
}

/** People open and close details and dialogs. */
const isKept = (element, name) => name === 'open' && (element.nodeName === 'DETAILS' || element.nodeName === 'DIALOG');

function patchAttributes(old, next) {
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && !isKept(old, name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
}

function patchChildren(old, children, fresh) {
  const ids = new Set(children.map(({ id }) => id).filter(Boolean));
  for (const child of [...old.children]) if (child.id && !ids.has(child.id)) child.remove();
  let at = old.firstChild;
  for (const child of children) {
    const match = child.id
      ? [...old.children].find(({ id }) => id === child.id)
      : at && !at.id && at.nodeName === child.nodeName
        ? at
        : null;
    if (!match) {
      old.insertBefore(child, at);
      if (child.nodeType === Node.ELEMENT_NODE) fresh.push(child);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    patchNode(match, child, fresh);
  }
  while (at !== null) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

for (const part of document.querySelectorAll('[data-fragment]')) void refresh(part);
loadParts();
