/** Runs in the isolated world of every document, after blocked.js. Reads what the crawl needs to know about the document. */

const MAX_LINKS = 20_000;
/** The crawl follows no longer address, and counts those that are cut. */
const MAX_URL = globalThis.curbcutLimits.address;
const MAX_SIDE = globalThis.curbcutLimits.position;
const { roots: rootsOf, queryIn, nameOf, shadowRootOf, attributeOf } = globalThis.curbcutSeen;
/** The fragment of an address, unless it may be a hash route: most links to places on a page are the same page. */
const ANCHOR = /#(?![/!]).*$/s;
const OTHER_SCHEME = /^\s*(?!https?:)[a-z][a-z0-9+.-]*:/i;

/** Scripts and style sheets that the browser did not load or could not use. */
const failedParts = [];
const MAX_FAILED = 100;
addEventListener(
  'error',
  ({ isTrusted, target }) => {
    if (!isTrusted || failedParts.length === MAX_FAILED) return;
    const url = target instanceof HTMLScriptElement ? target.src : target instanceof HTMLLinkElement ? target.href : '';
    if (!/^https?:/.test(url) || (target instanceof HTMLLinkElement && !target.relList.contains('stylesheet'))) return;
    failedParts.push({ kind: target instanceof HTMLScriptElement ? 'scripts' : 'styles', url });
  },
  true,
);

/** Resolves addresses in the encoding of the document, as all links of HTML do. */
const resolver = Document.prototype.createElementNS.call(document, 'http://www.w3.org/1999/xhtml', 'a');

/** The address that an element names, with its fragment and without it unless that is a hash route; null if it names none. */
function urlOf(element) {
  const text = element.href?.baseVal ?? attributeOf(element, 'href');
  // Pictures and scripts as addresses may have megabytes.
  if (text === null || text.trim() === '' || (text.length > MAX_URL && OTHER_SCHEME.test(text))) return null;
  resolver.setAttribute('href', text);
  const href = URL.parse(resolver.href)?.href;
  return href === undefined ? null : { href, page: href.replace(ANCHOR, '') };
}

/** Returns the function that says whether a fragment names a place of this document: an element, its top, or a text. */
function placeReader() {
  const { getElementById, querySelectorAll } = Document.prototype;
  let names;
  const found = (name) =>
    getElementById.call(document, name) !== null ||
    (names ??= new Set([...querySelectorAll.call(document, 'a[name]')].map((anchor) => attributeOf(anchor, 'name')))).has(name);
  // Escapes that are not of UTF-8 stay.
  const decoded = (fragment) => new URLSearchParams(`a=${fragment.replace(/[+&]/g, encodeURIComponent)}`).get('a');
  return (fragment) => /^$|^top$|:~:/i.test(fragment) || found(fragment) || found(decoded(fragment));
}

/**
 * The addresses that links of the document name. Longer ones are cut after one character more than `MAX_URL`.
 * @param hasRoutes also those with fragments of other documents
 */
function linksOf(everywhere, hasRoutes) {
  const found = { links: new Set(), files: new Set(), hashLinks: new Set(), anchors: new Set() };
  const own = location.href.split('#', 1)[0];
  const isPlace = placeReader();
  for (const anchor of everywhere('a[*|href], area[href]')) {
    const url = urlOf(anchor);
    if (url === null) continue;
    const [page, href] = [url.page, url.href].map((text) => text.slice(0, MAX_URL + 1));
    const [hasAnchor, isFile] = [url.page.length < url.href.length, anchor.hasAttribute('download')];
    if (!hasAnchor || url.page !== own) found[isFile ? 'files' : 'links'].add(page);
    else if (!isFile && !found.hashLinks.has(href) && !isPlace(url.href.slice(own.length + 1))) found.hashLinks.add(href);
    if (hasRoutes && hasAnchor && !isFile && url.page !== own) found.anchors.add(href);
  }
  const lists = Object.entries(found).map(([name, addresses]) => [name, [...addresses].slice(0, MAX_LINKS)]);
  // The documents of anchors are links too.
  const counted = [found.links, found.files, found.hashLinks];
  const linksBeyond = counted.reduce((sum, { size }) => sum + Math.max(0, size - MAX_LINKS), 0);
  return { ...Object.fromEntries(lists), linksBeyond };
}

/** What the browser says about a document in XML that is not well formed; null if it is. It shows only the part before the error. */
function parserError() {
  if (document.contentType === 'text/html') return null;
  const error = document.getElementsByTagName('parsererror')[0];
  // The browser writes its message in a div, between two headings.
  return error === undefined ? null : (error.querySelector('div')?.textContent ?? '').trim().slice(0, 300).toWellFormed();
}

/** The size of what can be scrolled to, in CSS pixels. */
function sizeOfDocument() {
  const { scrollWidth: width, scrollHeight: height } = document.scrollingElement ??
    document.documentElement ?? { scrollWidth: 0, scrollHeight: 0 };
  return { width: Math.min(Math.max(width, 1), MAX_SIDE), height: Math.min(Math.max(height, 1), MAX_SIDE) };
}

const everywhereIn = (roots) => (selector) => roots.flatMap((root) => [...queryIn(root, selector)]);

/** What a frame adds to its page. The document of an attribute belongs to the origin of the page, or to none. */
const frameFacts = (hasRoutes) => ({
  url: /^https?:/.test(location.href) ? location.href : self.origin,
  content: content(),
  ...linksOf(everywhereIn(rootsOf()), hasRoutes),
});

/** The facts about a page that the crawl needs. */
function facts(hasRoutes) {
  const roots = rootsOf();
  const everywhere = everywhereIn(roots);
  const canonical = document.querySelector('link[rel~="canonical" i][href]');
  const html = document.documentElement;
  return {
    title: document.title.slice(0, 1000),
    language: html === null ? null : (html.getAttribute('lang') ?? html.getAttribute('xml:lang')),
    contentType: document.contentType,
    parserError: parserError(),
    size: sizeOfDocument(),
    elements: curbcut.allElements().length,
    canonical: canonical === null ? null : (urlOf(canonical)?.page ?? null),
    signInForm: signInForm(everywhere('input')),
    // Pages of bot protection are small, so the HTML of large pages is not needed.
    markup: html !== null && document.getElementsByTagName('*').length < 150 ? html.outerHTML.slice(0, 50000) : '',
    content: content(),
    visible: globalThis.curbcut.visible(roots),
    failedParts,
    foreignSheets: globalThis.curbcutSheets.foreign(roots),
    hasFrames: everywhere('iframe, frame, object, embed').length > 0,
    isFrameset: document.body !== null && nameOf(document.body) === 'frameset',
    ...linksOf(everywhere, hasRoutes),
    frames: [],
  };
}

// The form that asks for a password or a user name, by which the crawl judges whether the document is a sign-in page.

/** Types of inputs that a person fills in. */
const FILLED = new Set(['text', 'email', 'tel', 'number', 'url', 'search', 'date', 'password']);
/** Text in these elements is not the content of the page. */
const AROUND = [
  'header,nav,footer,aside,dialog,script,style,noscript,template,title,option',
  '[role="banner"],[role="navigation"],[role="contentinfo"],[role="complementary"],[role="dialog"],[role="alertdialog"]',
  '[id*="cookie" i],[class*="cookie" i],[id*="consent" i],[class*="consent" i]',
].join();
/** The search for text outside the form ends here, in characters. */
const MAX_TEXT = 2000;
const MAX_LABEL = 500;

const completes = (field, token) => field.autocomplete.split(/\s+/).includes(token);
const isIdentifier = (field) => field.type === 'email' || ['username', 'email', 'webauthn'].some((token) => completes(field, token));

/** The form of a field, or the closest element that also has a button. */
function formOf(field) {
  const form = field.closest('form');
  if (form !== null) return form;
  let element = field.parentElement;
  while (element !== null && element.querySelector('button,input[type="submit" i],[role="button"]') === null)
    element = element.parentElement;
  return element;
}

/** The length of the visible text that belongs neither to the form nor to what surrounds every page of the site. */
function textOutside(form) {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  let length = 0;
  for (let node = walker.nextNode(); node !== null && length < MAX_TEXT; node = walker.nextNode()) {
    const text = node.data.trim();
    const parent = node.parentElement;
    if (text === '' || parent === null || Node.prototype.contains.call(form, node) || parent.closest(AROUND) !== null) continue;
    if (parent.checkVisibility({ visibilityProperty: true })) length += text.length;
  }
  return length;
}

/** The texts that name the page: its title, its headings, and the buttons of the form. */
function labelOf(form) {
  const buttons = Element.prototype.querySelectorAll.call(form, 'button,input[type="submit" i],[role="button"],legend');
  const named = [...document.querySelectorAll('h1,h2,h3'), ...buttons].map((element) => element.value || element.textContent);
  return [document.title, ...named].join(' | ').replace(/\s+/g, ' ').slice(0, MAX_LABEL);
}

/**
 * @param inputs the inputs of the document and its open shadow roots
 * @returns null if no visible input asks for a password or a user name
 */
function signInForm(inputs) {
  const fields = inputs.filter((field) => FILLED.has(field.type) && field.checkVisibility({ visibilityProperty: true }));
  const passwords = fields.filter(({ type }) => type === 'password');
  const asked = passwords[0] ?? fields.find(isIdentifier);
  if (asked === undefined) return null;
  const form = formOf(asked);
  // Text in shadow roots is not counted, so a form in one is never alone.
  const inDocument = form !== null && form.getRootNode() === document && form.closest('header,nav,footer,aside') === null;
  return {
    passwords: passwords.length,
    newPassword: passwords.some((field) => completes(field, 'new-password')),
    fields: fields.length,
    textOutside: inDocument ? textOutside(form) : MAX_TEXT,
    label: form === null ? document.title.slice(0, MAX_LABEL) : labelOf(form),
  };
}

/*
 * Fingerprints of what a page displays: two addresses with equal ones show the same page. Addresses of links and one-time values
 * (nonces, hidden fields) are not part of it, because they differ from visit to visit on some sites.
 */

const SKIPPED = new Set(['script', 'noscript', 'template', 'link', 'meta', 'base']);
const IGNORED = /^(?:nonce|integrity|action|formaction|srcset|data-.*|on.*)$/;

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

/** Whether a document is a web page that the browser could read. */
const documentKind = () => ({ contentType: document.contentType, parserError: parserError() });
globalThis.curbcut = { ...globalThis.curbcut, facts: (hasRoutes) => JSON.stringify(facts(hasRoutes)), frameFacts, documentKind };
