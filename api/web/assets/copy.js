/** Buttons that copy the text of another element: `data-copy` is its id. They are hidden without scripts. */
import { announce } from './announce.js';

const SHOWN_MS = 2500;

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
