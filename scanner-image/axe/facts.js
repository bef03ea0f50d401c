/**
 * Runs in our world of every document, after axe-core. Reads what the crawl needs to know about the document.
 */
(() => {
  'use strict';
  const MAX_LINKS = 5000;
  const MAX_URL = 2048;

  /** Every element that matches a selector, in the document and its open shadow roots. */
  function everywhere(selector) {
    const found = [];
    const roots = [document];
    for (let at = 0; at < roots.length; at++) {
      const root = roots[at];
      found.push(...root.querySelectorAll(selector));
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) if (node.shadowRoot) roots.push(node.shadowRoot);
    }
    return found;
  }

  function hrefOf(element) {
    const text = typeof element.href === 'object' ? element.href.baseVal : element.getAttribute('href');
    if (text === null || text.length > MAX_URL) return null;
    try {
      return new URL(text, document.baseURI).href;
    } catch {
      return null;
    }
  }

  /** The facts about a page that the crawl needs. */
  function facts() {
    const links = [];
    const seen = new Set();
    for (const anchor of everywhere('a[href], area[href]')) {
      if (links.length >= MAX_LINKS) break;
      if (anchor.hasAttribute('download')) continue;
      const href = hrefOf(anchor);
      if (href === null || seen.has(href)) continue;
      seen.add(href);
      links.push(href);
    }
    const canonical = document.querySelector('link[rel~="canonical" i][href]');
    const html = document.documentElement;
    return {
      title: document.title.slice(0, 1000),
      language: html === null ? null : (html.getAttribute('lang') ?? html.getAttribute('xml:lang')),
      contentType: document.contentType,
      canonical: canonical === null ? null : hrefOf(canonical),
      signInForm: globalThis.curbcut.signInForm(everywhere('input')),
      // Pages of bot protection are small, so the HTML of large pages is not needed.
      markup: html !== null && document.getElementsByTagName('*').length < 150 ? html.outerHTML.slice(0, 50000) : '',
      links,
    };
  }

  /** Clears storage, so that each page is tested as a first visit. */
  function forget() {
    try {
      localStorage.clear();
      sessionStorage.clear();
    } catch {
      // an opaque origin has no storage
    }
  }

  globalThis.curbcut = { ...globalThis.curbcut, forget, facts: () => JSON.stringify(facts()) };
})();
