/**
 * Runs beside every document in a world of its own: the page can neither see nor change it, and whatever the page does
 * to Set, Map or JSON does not reach it. Expects `axe` in the same world.
 */
(() => {
  'use strict';
  const MAX_LINKS = 5000;
  const MAX_URL = 2048;

  // Nothing is asked of frames by messages: each frame is tested by itself, and a page must not talk to the tests.
  axe.frameMessenger({ open: () => () => undefined, post: () => false });

  let changed = performance.now();
  let loaded = document.readyState === 'complete' ? changed : null;
  addEventListener('load', () => (loaded = performance.now()), { once: true });
  // Style is left out: scripted motion would keep the page from ever being quiet.
  new MutationObserver(() => (changed = performance.now())).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: ['class', 'hidden', 'open', 'src', 'href', 'role', 'lang', 'disabled', 'aria-hidden', 'aria-expanded', 'aria-label'],
  });

  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /**
   * Resolves when the document has not changed for `quietMs`, or after `capMs`. Pages without scripts are quiet at once.
   * It is over before a meta refresh (or a Refresh header, in seconds) takes the document away.
   * @returns true where the document is about to redirect: a refresh without delay
   */
  async function settle(quietMs, capMs, refreshHeader) {
    const delays = [refreshDelay(), refreshHeader].filter((seconds) => seconds !== null);
    if (delays.some((seconds) => seconds <= 0)) return true;
    if (document.scripts.length === 0 && document.querySelector('iframe,frame') === null) return false;
    const began = performance.now();
    const end = began + Math.min(capMs, Math.min(...delays) * 500);
    // What a script asks for when the page has loaded, or when an answer came, must have time to be seen.
    const earliest = Math.max(began, loaded ?? 0) + quietMs / 2;
    for (;;) {
      const now = performance.now();
      const left = Math.max(changed + quietMs, earliest) - now;
      if (left <= 0 || now >= end) return false;
      await later(Math.min(left, end - now));
    }
  }

  /** Waits for fonts (contrast and size depend on them) and brings every animation to its end. */
  async function still(capMs) {
    if (document.fonts !== undefined && document.fonts.status !== 'loaded') await Promise.race([document.fonts.ready, later(capMs)]);
    for (const animation of document.getAnimations()) {
      try {
        animation.finish();
      } catch {
        animation.cancel(); // an endless one has no end to go to
      }
    }
  }

  /** Every element of the document and its open shadow roots that a selector matches. */
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

  /** How long a meta refresh waits, in seconds; null where there is none. */
  function refreshDelay() {
    for (const meta of document.querySelectorAll('meta[http-equiv="refresh" i]')) {
      const seconds = parseFloat(meta.getAttribute('content') ?? '');
      if (!Number.isNaN(seconds)) return seconds;
    }
    return null;
  }

  /** What the crawl wants to know of a page. */
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
      passwordField: everywhere('input[type="password" i]').some((field) => field.checkVisibility()),
      // A wall is a small page; of a large one nobody asks.
      markup: html !== null && document.getElementsByTagName('*').length < 150 ? html.outerHTML.slice(0, 50000) : '',
      links,
    };
  }

  const impactOf = (rule) => {
    const node = rule.nodes[0];
    const check = node === undefined ? undefined : [...node.any, ...node.all, ...node.none][0];
    return rule.impact ?? (check === undefined ? null : check.impact);
  };

  const slimRule = (rule) => ({
    id: rule.id,
    impact: impactOf(rule),
    tags: rule.tags,
    help: rule.help,
    description: rule.description,
    helpUrl: rule.helpUrl,
    nodes: rule.nodes.map(({ target, html, failureSummary }) => ({ target, html, failureSummary })),
  });

  const slim = (results) =>
    JSON.stringify({
      violations: results.violations.map(slimRule),
      incomplete: results.incomplete.map(slimRule),
      passes: results.passes.map((rule) => ({ id: rule.id, impact: impactOf(rule) })),
    });

  /** Removes what a page keeps for later ones: each page is tested as a first visit, whatever was tested before it. */
  function forget() {
    try {
      localStorage.clear();
      sessionStorage.clear();
    } catch {
      // an opaque origin has no storage
    }
  }

  /** Options for this document: axe-core waits for media that start by themselves, but for a broken file it would wait in vain. */
  function optionsFor(options) {
    const waits = [...document.querySelectorAll('audio[autoplay], video[autoplay]')].some(
      ({ readyState, error, networkState, NETWORK_NO_SOURCE }) => readyState === 0 && error === null && networkState !== NETWORK_NO_SOURCE,
    );
    return waits ? options : { ...options, preload: false };
  }

  let frames = [];

  globalThis.curbcut = {
    settle,
    still,
    forget,
    facts: () => JSON.stringify(facts()),
    /** Tests a document that has no frames. */
    run: async (options) => slim(await axe.run(document, optionsFor(options))),
    /** Tests one of several documents; `context` is the parent's word on this frame, null for the page itself. */
    partial: async (context, options) => {
      frames = axe.utils.getFrameContexts(context ?? document, options);
      const partial = await axe.runPartial(context ?? document, optionsFor(options));
      return JSON.stringify({ partial, contexts: frames.map(({ frameContext }) => frameContext) });
    },
    frameElement: (index) => axe.utils.shadowSelect(frames[index].frameSelector),
    /** Puts the parts of all documents together. */
    finish: async (partials, options) => slim(await axe.finishRun(partials, options)),
  };
})();
