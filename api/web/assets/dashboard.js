/**
 * Refreshes parts of the dashboard. `data-fragment` is the address of a part's new state, which is read every `data-seconds`,
 * and with `data-events` when an event of the server says that it changed. `data-load` is the address of a part that is
 * read once. Hidden pages wait, failures are retried more and more slowly, and the end of the session ends everything.
 */
import { announce } from './announce.js';
import { enableCopying } from './copy.js';
import { enableDialogs } from './dialog.js';
import { patch } from './patch.js';

const SLOWEST_SECONDS = 60;
/** The minimum interval between two reads, also if events arrive faster. In seconds. */
const FASTEST_SECONDS = 1;
const LOAD_ATTEMPTS = 3;
/** Answers that stay the same: the session has ended, the person may not read it, or it does not exist. */
const FINAL = new Set([401, 403, 404, 405]);

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const visible = () =>
  document.hidden ? new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true })) : null;

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
    const text = await response.text();
    return { state: 'new', etag: response.headers.get('etag'), document: new DOMParser().parseFromString(text, 'text/html') };
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
  announce('This page is no longer refreshed. Reload it to see the current state.');
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

for (const part of document.querySelectorAll('[data-fragment]')) void refresh(part);
loadParts();
