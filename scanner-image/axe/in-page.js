/**
 * Runs in an isolated world of every document: the page can neither see nor change it, and changes of the page to Set, Map
 * or JSON have no effect here. Expects `axe` in the same world.
 */
(() => {
  'use strict';
  const MAX_LINKS = 5000;
  const MAX_URL = 2048;

  // axe-core must not send messages to frames: each frame is tested separately, and a page could answer in its place.
  axe.frameMessenger({ open: () => () => undefined, post: () => false });
  // axe-core would read the whole HTML of every element that it checks. `describe.js` reads that of failing elements only.
  axe.configure({ noHtml: true });

  let changed = performance.now();
  let loaded = document.readyState === 'complete' ? changed : null;
  addEventListener('load', () => (loaded = performance.now()), { once: true });
  // `style` is not observed, because scripted animations change it all the time.
  new MutationObserver(() => (changed = performance.now())).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: ['class', 'hidden', 'open', 'src', 'href', 'role', 'lang', 'disabled', 'aria-hidden', 'aria-expanded', 'aria-label'],
  });

  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /**
   * Resolves when the document has not changed for `quietMs`, or after `capMs`. Pages without scripts are quiet immediately.
   * It ends before a meta refresh (or a Refresh header, in seconds) replaces the document.
   * @returns true if the document is about to redirect, by a refresh of zero seconds
   */
  async function settle(quietMs, capMs, refreshHeader) {
    const delays = [refreshDelay(), refreshHeader].filter((seconds) => seconds !== null);
    if (delays.some((seconds) => seconds <= 0)) return true;
    if (document.scripts.length === 0 && document.querySelector('iframe,frame') === null) return false;
    const began = performance.now();
    const end = began + Math.min(capMs, Math.min(...delays) * 500);
    // Scripts that start requests on load, or after a response, need time to show the result.
    const earliest = Math.max(began, loaded ?? 0) + quietMs / 2;
    for (;;) {
      const now = performance.now();
      const left = Math.max(changed + quietMs, earliest) - now;
      if (left <= 0 || now >= end) return false;
      await later(Math.min(left, end - now));
    }
  }

  /** Waits for fonts, because contrast and size depend on them, and finishes every animation. */
  async function still(capMs) {
    if (document.fonts !== undefined && document.fonts.status !== 'loaded') await Promise.race([document.fonts.ready, later(capMs)]);
    for (const animation of document.getAnimations()) {
      try {
        animation.finish();
      } catch {
        animation.cancel(); // an endless animation cannot finish
      }
    }
  }

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

  /** The delay of a meta refresh in seconds; null if there is none. */
  function refreshDelay() {
    for (const meta of document.querySelectorAll('meta[http-equiv="refresh" i]')) {
      const seconds = parseFloat(meta.getAttribute('content') ?? '');
      if (!Number.isNaN(seconds)) return seconds;
    }
    return null;
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
      passwordField: everywhere('input[type="password" i]').some((field) => field.checkVisibility()),
      // Pages of bot protection are small, so the HTML of large pages is not needed.
      markup: html !== null && document.getElementsByTagName('*').length < 150 ? html.outerHTML.slice(0, 50000) : '',
      links,
    };
  }

  const impactOf = (rule) => {
    const node = rule.nodes[0];
    const check = node === undefined ? undefined : [...node.any, ...node.all, ...node.none][0];
    return rule.impact ?? (check === undefined ? null : check.impact);
  };

  /** The colours of a contrast check; undefined for other checks, and if axe-core could not determine them. */
  const contrastOf = ({ any }) => {
    const { fgColor, bgColor, contrastRatio, expectedContrastRatio } = any.find(({ id }) => id.startsWith('color-contrast'))?.data ?? {};
    const required = parseFloat(expectedContrastRatio);
    if (![fgColor, bgColor].every(isColour) || !Number.isFinite(contrastRatio) || !Number.isFinite(required)) return undefined;
    return { foreground: fgColor, background: bgColor, ratio: contrastRatio, required };
  };
  const isColour = (text) => typeof text === 'string' && /^#[0-9a-f]{6,8}$/.test(text);

  /** @param describe returns the HTML and the landmark of a node's element */
  const slimRule = (rule, describe) => ({
    id: rule.id,
    impact: impactOf(rule),
    tags: rule.tags,
    help: rule.help,
    description: rule.description,
    helpUrl: rule.helpUrl,
    nodes: rule.nodes.map((node) => ({
      target: node.target,
      failureSummary: node.failureSummary,
      ...describe(node),
      contrast: contrastOf(node),
    })),
  });

  const slim = (results, describe) =>
    JSON.stringify({
      violations: results.violations.map((rule) => slimRule(rule, describe)),
      incomplete: results.incomplete.map((rule) => slimRule(rule, describe)),
      passes: results.passes.map((rule) => ({ id: rule.id, impact: impactOf(rule) })),
    });

  /** Clears storage, so that each page is tested as a first visit. */
  function forget() {
    try {
      localStorage.clear();
      sessionStorage.clear();
    } catch {
      // an opaque origin has no storage
    }
  }

  /** Options for this document. axe-core waits for autoplaying media; that is disabled if the media can never load. */
  function optionsFor(options) {
    const waits = [...document.querySelectorAll('audio[autoplay], video[autoplay]')].some(
      ({ readyState, error, networkState, NETWORK_NO_SOURCE }) => readyState === 0 && error === null && networkState !== NETWORK_NO_SOURCE,
    );
    return waits ? options : { ...options, preload: false };
  }

  const { begin, describe } = globalThis.curbcutDescribe;

  /** The elements of the partial results that are being made, by their entry in the results. Null: none are being made. */
  let elements = null;
  let selectors = new WeakMap();
  // By default axe-core computes two more paths to every element, and the selector again for every rule.
  axe.utils.nodeSerializer.update({
    toSpec(node) {
      const { element } = node;
      let selector = selectors.get(element);
      if (selector === undefined) {
        selector = node.selector;
        selectors.set(element, selector);
      }
      const spec = { selector, source: null, xpath: [], ancestry: [], nodeIndexes: node.nodeIndexes, fromFrame: node.fromFrame };
      if (elements === null) spec.element = element;
      else elements.set(spec, element);
      return spec;
    },
  });

  /** Whether a node surely passed. Some checks are decided only when all documents are known. */
  const passed = ({ any, all, none }) =>
    ![...any, ...all, ...none].some(({ id }) => axe._audit.checks[id]?.after !== undefined) &&
    (any.length === 0 || any.some(({ result }) => result === true)) &&
    all.every(({ result }) => result === true) &&
    none.every(({ result }) => result === false);

  /** Describes the elements of partial results. The description takes the place of axe-core's ancestry, which it merges unread. */
  function describePartial(partial, total) {
    for (const rule of partial.results)
      for (const node of rule.nodes) if (!passed(node)) node.node.ancestry = [describe(elements.get(node.node), total)];
  }

  let frames = [];

  globalThis.curbcut = {
    settle,
    still,
    forget,
    facts: () => JSON.stringify(facts()),
    /** Tests a document that has no frames. `htmlTotal` limits the HTML of its results, in characters. */
    run: async (options, htmlTotal) => {
      begin();
      selectors = new WeakMap();
      const results = await axe.run(document, { ...optionsFor(options), elementRef: true });
      return slim(results, ({ element }) => describe(element, htmlTotal));
    },
    /** Tests one of several documents. `context` comes from the parent of this frame; null for the page itself. */
    partial: async (context, options, htmlTotal) => {
      begin();
      elements = new Map();
      selectors = new WeakMap();
      frames = axe.utils.getFrameContexts(context ?? document, options);
      const partial = await axe.runPartial(context ?? document, optionsFor(options));
      describePartial(partial, htmlTotal);
      elements = null;
      return JSON.stringify({ partial, contexts: frames.map(({ frameContext }) => frameContext) });
    },
    frameElement: (index) => axe.utils.shadowSelect(frames[index].frameSelector),
    /** Merges the partial results of all documents. */
    finish: async (partials, options) =>
      slim(await axe.finishRun(partials, { ...options, ancestry: true }), ({ ancestry }) => ancestry.at(-1)),
  };
})();
