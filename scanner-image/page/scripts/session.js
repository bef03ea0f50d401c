/**
 * Runs in the isolated world of every document of a scan with a session, after the other scripts. It has what shows that a page is
 * signed in, and the storage of the session.
 */

const POLL_MS = 50;

const { roots: allRoots } = globalThis.curbcutSeen;

const isVisible = (element) => element.checkVisibility({ visibilityProperty: true });
const textOf = (root) => (root === document ? (root.body?.innerText ?? '') : [...root.children].map((child) => child.innerText).join('\n'));

function isShown({ selector, text }) {
  const roots = allRoots();
  return selector === undefined
    ? roots.some((root) => textOf(root).includes(text))
    : roots.some((root) => [...root.querySelectorAll(selector)].some(isVisible));
}

/** Whether the document shows the marker, at once or within `waitMs` milliseconds. */
async function shows(marker, waitMs) {
  const end = performance.now() + waitMs;
  for (;;) {
    if (isShown(marker)) return true;
    if (performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The storage of the document's origin; null if it has none. */
function storage() {
  try {
    return JSON.stringify({ origin: location.origin, local: { ...localStorage }, session: { ...sessionStorage } });
  } catch {
    return null;
  }
}

globalThis.curbcut = { ...globalThis.curbcut, shows, storage };
