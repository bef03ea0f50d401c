/**
 * Parts of the page that refresh themselves: `data-live` is the address of the page that has the new content, in the element
 * of the same id. A part without `data-live` is final. Hidden pages wait; failures are retried, more and more slowly.
 */
import { announce } from './announce.js';

const SLOWEST_SECONDS = 60;

export function followLiveParts(enable) {
  for (const part of document.querySelectorAll('[data-live]')) void follow(part.id, enable);
}

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const visible = () =>
  document.hidden ? new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true })) : null;

async function follow(id, enable) {
  let slower = 1;
  let seen = document.getElementById(id).outerHTML;
  for (;;) {
    const part = document.getElementById(id);
    if (part?.dataset.live === undefined) return;
    await wait(Math.min(SLOWEST_SECONDS, Number(part.dataset.seconds) * slower));
    await visible();
    const next = await read(part.dataset.live, id);
    slower = next === null ? slower * 2 : 1;
    if (next === null || next.part.outerHTML === seen) continue;
    seen = next.part.outerHTML;
    replace(part, next, enable);
  }
}

/** The part in its new state; null if it cannot be read now. */
async function read(address, id) {
  try {
    const response = await fetch(address, { headers: { Accept: 'text/html' }, redirect: 'error', cache: 'no-store' });
    if (response.status >= 500 || response.status === 429) return null;
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    const part = next.getElementById(id);
    // The page has another form now, such as the sign-in page or an error: the person should see it.
    if (part === null) location.reload();
    return part && { part, title: next.title };
  } catch {
    return null;
  }
}

/** Shows the new state. Focus and open details stay, if they have ids. */
function replace(part, { part: next, title }, enable) {
  const focused = part.contains(document.activeElement) ? document.activeElement.id : '';
  const open = [...part.querySelectorAll('details[open][id]')].map((details) => details.id);
  // Parsed without scripts, their content would be elements.
  for (const fallback of next.querySelectorAll('noscript')) fallback.remove();
  document.title = title;
  part.replaceWith(next);
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  if (focused !== '') document.getElementById(focused)?.focus();
  enable(next);
  const { announce: text } = next.dataset;
  if (text && text !== part.dataset.announce) announce(text);
}
