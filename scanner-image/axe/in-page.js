/**
 * Runs in an isolated world of every document: the page can neither see nor change it, and changes of the page to Set, Map
 * or JSON have no effect here. Expects `axe` in the same world.
 */
(() => {
  'use strict';
  // axe-core must not send messages to frames: each frame is tested separately, and a page could answer in its place.
  axe.frameMessenger({ open: () => () => undefined, post: () => false });
  // axe-core would read the whole HTML of every element that it checks. `describe.js` reads that of failing elements only.
  axe.configure({ noHtml: true });

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
    ...globalThis.curbcut,
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
