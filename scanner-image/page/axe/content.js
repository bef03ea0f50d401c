/**
 * Runs in our world of every document, after visible.js. Computes fingerprints of what a page displays: two addresses with equal ones show the
 * same page. Addresses of links and one-time values (nonces, hidden fields) are not part of it, because they differ from
 * visit to visit on some sites.
 */

const SKIPPED = new Set(['script', 'noscript', 'template', 'link', 'meta', 'base']);
const IGNORED = /^(?:nonce|integrity|action|formaction|srcset|data-.*|on.*)$/;

const { nameOf, shadowRootOf, attributeOf } = globalThis.curbcutSeen;
const { getAttributeNames } = Element.prototype;

/** A hash of 64 bits in two halves. */
const newHash = () => ({ a: 0x811c9dc5, b: 0x9e3779b9 });
function add(hash, a, b) {
  hash.a = Math.imul(hash.a ^ a, 0x01000193);
  hash.a ^= hash.a >>> 15;
  hash.b = Math.imul(hash.b ^ b, 0x85ebca6b);
  hash.b ^= hash.b >>> 13;
}
function addText(hash, text) {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    add(hash, code, code);
  }
  add(hash, 0x10000, 0x10001); // a separator
}
const hexOf = ({ a, b }) => [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');

/** The part of an attribute's value that belongs to the content; null if there is none. */
function contentOf(element, tag, name) {
  if (IGNORED.test(name) || (name === 'value' && tag === 'input' && attributeOf(element, 'type') === 'hidden')) return null;
  const value = attributeOf(element, name) ?? '';
  if (name === 'href' || name === 'xlink:href') return value.startsWith('#') ? value : '';
  return name === 'src' && !value.startsWith('data:') ? value.split(/[?;]/, 1)[0] : value;
}

function addElement(hash, element) {
  const tag = nameOf(element);
  addText(hash, tag);
  for (const name of getAttributeNames.call(element)) {
    const value = contentOf(element, tag, name);
    if (value === null) continue;
    addText(hash, name);
    addText(hash, value);
  }
}

/** The node after a subtree, or null. */
function after(walker) {
  do {
    const next = walker.nextSibling();
    if (next !== null) return next;
  } while (walker.parentNode() !== null);
  return null;
}

const walkerAt = (root, node = root) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  walker.currentNode = node;
  return walker;
};

/** @param main.element the hash of its subtree is computed apart */
function hashTree(root, whole, main) {
  const walker = walkerAt(root);
  const end = main === null ? null : after(walkerAt(root, main.element));
  let inMain = false;
  let node = root.nodeType === Node.ELEMENT_NODE ? root : walker.nextNode();
  while (node !== null) {
    if (main !== null) inMain = node === main.element || (inMain && node !== end);
    const isText = node.nodeType === Node.TEXT_NODE;
    if (!isText && SKIPPED.has(nameOf(node))) {
      node = after(walker);
      continue;
    }
    const own = newHash();
    if (isText) {
      const text = node.data.trim();
      if (text !== '') addText(own, text.replace(/\s+/g, ' '));
    } else {
      addElement(own, node);
      const shadow = shadowRootOf(node);
      if (shadow !== null) hashTree(shadow, own, null);
    }
    add(whole, own.a, own.b);
    if (inMain) add(main.hash, own.a, own.b);
    node = walker.nextNode();
  }
}

/** The fingerprints of the page and of its main content, which is the whole page if it has no main landmark, or several. */
function content() {
  const root = document.documentElement;
  if (root === null) return { whole: '', main: '' };
  const [whole, part] = [newHash(), newHash()];
  addText(whole, document.title);
  addText(part, document.title);
  const mains = document.querySelectorAll('main:not([hidden]), [role="main"]:not([hidden])');
  const element = mains.length === 1 ? mains[0] : (document.body ?? root);
  hashTree(root, whole, { element, hash: part });
  return { whole: hexOf(whole), main: hexOf(part) };
}

globalThis.curbcut = { ...globalThis.curbcut, content };
