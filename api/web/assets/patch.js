/**
 * Changes elements to a new state with as few changes as possible: what stays the same keeps its focus, its open details and
 * its scroll position. Children with ids are matched by their ids.
 */

/** @returns the elements that are new in the document */
export function patch(old, next) {
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
