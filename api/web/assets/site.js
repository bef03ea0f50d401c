/** Loaded by every page. Each part works on elements with its own data attribute; pages work without it. */

import { showTimes } from './times.js';

const SHOWN_MS = 2500;
export const SLOWEST_SECONDS = 60;

// The focus moves to the errors of a form, so that screen readers read them and keyboards start there.
document.querySelector('[data-focus]')?.focus();

// Forms that ask for the time zone of a person who has not chosen one.
for (const field of document.querySelectorAll('[data-zone]')) {
  const unchosen = field.value;
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  // A list without this zone.
  if (field.value === '') field.value = unchosen;
}

/** A region that screen readers read when its text changes. It must exist before the text. */
const region = document.createElement('div');
region.className = 'visually-hidden';
region.setAttribute('role', 'status');
document.body.append(region);

/** Has screen readers read a text at the next pause. */
export function announce(text) {
  region.textContent = '';
  // A second task, because the same text twice would not be a change.
  setTimeout(() => (region.textContent = text), 50);
}

export const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
export const visible = () =>
  document.hidden ? new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true })) : null;

/**
 * Parts of the page that refresh themselves: `data-live` is the address of the page that has the new content, in the element
 * of the same id. A part without `data-live` is final. Hidden pages wait; failures are retried, more and more slowly.
 */
async function follow(id) {
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
    replace(part, next);
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
function replace(part, { part: next, title }) {
  const focused = part.contains(document.activeElement) ? document.activeElement.id : '';
  const open = [...part.querySelectorAll('details[open][id]')].map((details) => details.id);
  // Parsed without scripts, their content would be elements.
  for (const fallback of next.querySelectorAll('noscript')) fallback.remove();
  document.title = title;
  showTimes(next);
  part.replaceWith(next);
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  if (focused !== '') document.getElementById(focused)?.focus();
  enableCopying(next);
  const { announce: text } = next.dataset;
  if (text && text !== part.dataset.announce) announce(text);
}

/** Buttons that copy the text of another element: `data-copy` is its id. They are hidden without scripts. */
export function enableCopying(root) {
  for (const button of root.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    if (button.dataset.ready) continue;
    button.dataset.ready = 'true';
    button.addEventListener('click', () => void copy(button));
  }
}

async function copy(button) {
  const { copy: id, copied, failed } = button.dataset;
  try {
    await navigator.clipboard.writeText(document.getElementById(id).textContent);
  } catch {
    // Without permission, or on plain HTTP, there is no clipboard: the text is selected instead.
    getSelection().selectAllChildren(document.getElementById(id));
    announce(failed);
    return;
  }
  announce(copied);
  const [label] = button.childNodes;
  button.dataset.label ??= label.textContent;
  label.textContent = copied;
  setTimeout(() => (label.textContent = button.dataset.label), SHOWN_MS);
}

/** Forms that ask before they are sent: `data-confirm` is the id of their dialog. */
export function enableDialogs(root) {
  for (const form of root.querySelectorAll('form[data-confirm]')) {
    const dialog = document.getElementById(form.dataset.confirm);
    form.addEventListener('submit', (event) => {
      if (event.submitter?.hasAttribute('data-confirmed')) return;
      event.preventDefault();
      dialog.showModal();
      // Not the button that confirms: Enter would do what was not read.
      dialog.querySelector('[data-close]')?.focus();
    });
    for (const button of dialog.querySelectorAll('[data-close]')) button.addEventListener('click', () => dialog.close());
  }
}

/** Buttons that show the password of a field: `data-show-password` is its id. They are hidden without scripts. */
for (const button of document.querySelectorAll('[data-show-password]')) {
  const field = document.getElementById(button.dataset.showPassword);
  const texts = { text: button.dataset.hideText, password: button.textContent };
  const show = (type) => {
    field.type = type;
    button.textContent = texts[type];
  };
  button.hidden = false;
  button.addEventListener('click', () => show(field.type === 'password' ? 'text' : 'password'));
  // Browsers keep what was typed in text fields, and offer only passwords to the password manager.
  field.form.addEventListener('submit', () => show('password'));
}

/** Removes secrets from the page when it is left, so that the browser's back button does not show them again. */
addEventListener('pagehide', () => {
  for (const element of document.querySelectorAll('[data-secret]')) element.textContent = element.dataset.forgotten;
});

// First, because it compares parts with what the server sent.
for (const part of document.querySelectorAll('[data-live]')) void follow(part.id);
enableCopying(document);
enableDialogs(document);
