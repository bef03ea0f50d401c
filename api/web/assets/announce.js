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
