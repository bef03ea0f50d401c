/**
 * Runs in our world of every document, after axe-core. Reads what the crawl needs to know about the document.
 */

const MAX_LINKS = 20_000;
/** The crawl follows no longer address, and counts those that are cut. */
const MAX_URL = globalThis.curbcutLimits.address;
const MAX_SIDE = globalThis.curbcutLimits.position;
const { roots: rootsOf, queryIn } = globalThis.curbcutSeen;
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

/** The address that an element names; null if it names none. Longer ones are cut after one character more than `MAX_URL`. */
function hrefOf(element) {
  const text = typeof element.href === 'object' ? element.href.baseVal : element.getAttribute('href');
  // Pictures and scripts as addresses may have megabytes.
  if (text === null || (text.length > MAX_URL && OTHER_SCHEME.test(text))) return null;
  try {
    const { href } = new URL(text, document.baseURI);
    const page = href.replace(ANCHOR, '');
    // A link to a place on this page names no page.
    if (text.trim() === '' || (page.length < href.length && page === location.href.split('#', 1)[0])) return null;
    return page.slice(0, MAX_URL + 1);
  } catch {
    return null;
  }
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

/** The facts about a page that the crawl needs. */
function facts() {
  const roots = rootsOf();
  const everywhere = (selector) => roots.flatMap((root) => [...queryIn(root, selector)]);
  const links = [];
  const seen = new Set();
  let linksBeyond = 0;
  for (const anchor of everywhere('a[href], area[href]')) {
    if (anchor.hasAttribute('download')) continue;
    const href = hrefOf(anchor);
    if (href === null || seen.has(href)) continue;
    seen.add(href);
    if (links.length < MAX_LINKS) links.push(href);
    else linksBeyond += 1;
  }
  const canonical = document.querySelector('link[rel~="canonical" i][href]');
  const html = document.documentElement;
  return {
    title: document.title.slice(0, 1000),
    language: html === null ? null : (html.getAttribute('lang') ?? html.getAttribute('xml:lang')),
    contentType: document.contentType,
    parserError: parserError(),
    size: sizeOfDocument(),
    canonical: canonical === null ? null : hrefOf(canonical),
    signInForm: globalThis.curbcut.signInForm(everywhere('input')),
    // Pages of bot protection are small, so the HTML of large pages is not needed.
    markup: html !== null && document.getElementsByTagName('*').length < 150 ? html.outerHTML.slice(0, 50000) : '',
    content: globalThis.curbcut.content(),
    visible: globalThis.curbcut.visible(roots),
    failedParts,
    foreignSheets: globalThis.curbcutSheets.foreign(roots),
    links,
    linksBeyond,
  };
}

globalThis.curbcut = { ...globalThis.curbcut, facts: () => JSON.stringify(facts()), parserError };
