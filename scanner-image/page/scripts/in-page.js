/**
 * Runs in an isolated world of every document: the page can neither see nor change it, and changes of the page to Set, Map
 * or JSON have no effect here. Expects `axe` in the same world.
 */

// axe-core must not send messages to frames: each frame is tested separately, and a page could answer in its place.
axe.frameMessenger({ open: () => () => undefined, post: () => false });
// axe-core would read the whole HTML of every element that it checks. `describe.js` reads that of failing elements only.
axe.configure({ noHtml: true });

const LIMITS = globalThis.curbcutLimits;

const impactOf = (rule) => {
  const node = rule.nodes[0];
  const check = node === undefined ? undefined : checksOf(node)[0];
  return rule.impact ?? (check === undefined ? null : check.impact);
};

const checksOf = ({ any, all, none }) => [...any, ...all, ...none];

/** The colours and the text of a contrast check; undefined for other checks, and if axe-core could not determine them. */
const contrastOf = ({ any }) => {
  const data = any.find(({ id }) => id.startsWith('color-contrast'))?.data ?? {};
  const { fgColor, bgColor, contrastRatio, expectedContrastRatio, fontSize, fontWeight } = data;
  const required = parseFloat(expectedContrastRatio);
  if (![fgColor, bgColor].every(isColour) || !Number.isFinite(contrastRatio) || !Number.isFinite(required)) return undefined;
  // Such as `12.0pt (16px)`.
  const pixels = /\(([\d.]+)px\)$/.exec(fontSize ?? '');
  return {
    foreground: fgColor,
    background: bgColor,
    ratio: contrastRatio,
    required,
    ...(pixels !== null && { font_size_px: Number(pixels[1]) }),
    ...(typeof fontWeight === 'string' && { bold: fontWeight === 'bold' }),
  };
};
const isColour = (text) => typeof text === 'string' && /^#[0-9a-f]{6,8}$/.test(text);

/** The first related elements of the checks. Some checks name the element itself. */
function relatedOf(node, outline) {
  const related = new Map();
  for (const { relatedNodes } of checksOf(node))
    for (const other of relatedNodes ?? []) {
      if (related.size >= LIMITS.related) return [...related.values()];
      const key = JSON.stringify(other.target);
      if (related.has(key) || key === JSON.stringify(node.target)) continue;
      const html = outline(other);
      if (html !== undefined) related.set(key, { target: other.target, html });
    }
  return [...related.values()];
}

/**
 * @param describe.node returns the HTML, the landmark and the box of a node's element
 * @param describe.related returns the HTML of a related element; undefined if it is not known
 */
const slimRule = (rule, describe) => ({
  id: rule.id,
  impact: impactOf(rule),
  tags: rule.tags,
  help: rule.help,
  description: rule.description,
  helpUrl: rule.helpUrl,
  nodes: rule.nodes.map((node) => ({
    target: node.target,
    failureSummary: node.failureSummary?.slice(0, LIMITS.summary).toWellFormed(),
    ...describe.node(node),
    contrast: contrastOf(node),
    checks: checksOf(node).map(({ id }) => id),
    related: relatedOf(node, describe.related),
  })),
});

/** A rule that fails inside axe-core has such a node on the document's element. */
const isError = ({ none }) => none.some(({ id }) => id === 'error-occurred');

const slim = (results, describe) =>
  JSON.stringify({
    violations: results.violations.map((rule) => slimRule(rule, describe)),
    incomplete: results.incomplete.map((rule) => slimRule({ ...rule, nodes: rule.nodes.filter((node) => !isError(node)) }, describe)),
    hidden: hiddenBy(SILENT_NAMES),
    failed: results.incomplete.filter(({ nodes }) => nodes.some(isError)).map(({ id }) => id),
    passes: results.passes.map((rule) => ({ id: rule.id, impact: impactOf(rule) })),
    inapplicable: results.inapplicable.map(({ id }) => id),
  });

/** Options for this document. axe-core waits for autoplaying media; that is disabled if the media can never load. */
function optionsFor(options) {
  const waits = [...document.querySelectorAll('audio[autoplay], video[autoplay]')].some(
    ({ readyState, error, networkState, NETWORK_NO_SOURCE }) => readyState === 0 && error === null && networkState !== NETWORK_NO_SOURCE,
  );
  return waits ? options : { ...options, preload: false };
}

const isTripleA = (tag) => tag.endsWith('aaa');
const LISTS = ['violations', 'incomplete', 'passes', 'inapplicable'];

/**
 * The options of the runs that test this document. The rules of level AAA run apart: axe-core remembers what `color-contrast` and
 * `color-contrast-enhanced` find out about a shadow for both, although they measure it differently.
 */
function runsOf(options) {
  const { type, values } = options.runOnly;
  const ours = optionsFor({ ...options, runOnly: { type, values: values.filter((tag) => !isTripleA(tag)) } });
  if (!values.some(isTripleA)) return [ours];
  return [ours, { ...ours, runOnly: { type, values: values.filter(isTripleA) }, rules: {}, preload: false }];
}

/** Names of form fields that axe-core fails on, because they hide properties of the form: with an error or without an end. */
const FATAL_NAMES = ['nodeName', 'parentNode', 'getAttribute', 'hasAttributes', 'classList'];
/** With these names axe-core passes over the content of the form. */
const SILENT_NAMES = ['nodeType', 'childNodes'];

/** The names of fields that hide properties of their form. A hidden property is an own one of the form. */
const hiddenBy = (names) => names.filter((name) => [...document.forms].some((form) => Object.hasOwn(form, name)));

function refuseHidden() {
  const names = hiddenBy(FATAL_NAMES);
  if (names.length > 0)
    throw new Error(`A form has a field with the name ${names.join(', ')}, which axe-core cannot handle. Rename the field.`);
}

const { begin, describe, outline } = globalThis.curbcutDescribe;
const { placeOf } = globalThis.curbcutBoxes;

/** The elements of the partial results that are being made, by their entry in the results. Null: none are being made. */
let elements = null;
let selectors = new WeakMap();
// By default axe-core computes two more paths to every element, and the selector again for every rule.
axe.utils.nodeSerializer.update({
  toSpec(node) {
    const { element } = node;
    let selector = selectors.get(element);
    if (selector === undefined) {
      selector = shortSelector(node.selector, element);
      selectors.set(element, selector);
    }
    const spec = { selector, source: null, xpath: [], ancestry: [], nodeIndexes: node.nodeIndexes, fromFrame: node.fromFrame };
    if (elements === null) spec.element = element;
    else elements.set(spec, element);
    return spec;
  },
});

/**
 * The selector of an element. If it is too long, as with an ID of 100,000 characters, it is the end of the path of its ancestors.
 * That matches this element and perhaps others.
 */
function shortSelector(selector, element) {
  if (selector.every((step) => (typeof step === 'string' ? step : step.join()).length <= LIMITS.selector)) return selector;
  const path = axe.utils.getAncestry(element);
  return [typeof path === 'string' ? endOf(path) : path.slice(-LIMITS.shadows).map(endOf)];
}

function endOf(path) {
  if (path.length <= LIMITS.selector) return path;
  const end = path.slice(-LIMITS.selector);
  const step = end.indexOf(' > ');
  return step === -1 ? '*' : end.slice(step + 3);
}

/** Whether a node surely passed. Some checks are decided only when all documents are known. */
const passed = ({ any, all, none }) =>
  !checksOf({ any, all, none }).some(({ id }) => axe._audit.checks[id]?.after !== undefined) &&
  (any.length === 0 || any.some(({ result }) => result === true)) &&
  all.every(({ result }) => result === true) &&
  none.every(({ result }) => result === false);

/** Describes the elements of partial results. The description takes the place of axe-core's ancestry, which it merges unread. */
function describePartial(partial, total) {
  for (const rule of partial.results)
    for (const node of rule.nodes) {
      if (passed(node)) continue;
      node.node.ancestry = [describe(elements.get(node.node), total)];
      for (const { relatedNodes } of checksOf(node))
        for (const related of relatedNodes.slice(0, LIMITS.related + 1)) related.ancestry = [outline(elements.get(related))];
    }
}

let frames = [];

/** The size of a frame as axe-core measures it: by its attributes, else as displayed. */
function sizeOf(frame) {
  const { width, height } = frame.getBoundingClientRect();
  const sides = { width: parseInt(frame.getAttribute('width'), 10), height: parseInt(frame.getAttribute('height'), 10) };
  return { width: Number.isNaN(sides.width) ? width : sides.width, height: Number.isNaN(sides.height) ? height : sides.height };
}

/** The context of a frame's document. axe-core's own function builds the whole tree of the parent document again. */
function contextOf(frame, { focusable, page }) {
  const tabIndex = axe.utils.parseTabindex(frame.getAttribute('tabindex'));
  return { include: [], exclude: [], initiator: false, focusable: focusable && (tabIndex ?? 0) >= 0, size: sizeOf(frame), page };
}

/** The frame elements of partial results, for their parent in our program. */
const describeFrames = (specs, context) =>
  frames.map((frame, at) => ({
    selector: specs[at].selector,
    context: contextOf(frame, context),
    place: placeOf(frame),
    url: (frame.getAttribute('src') ?? '').slice(0, LIMITS.frameUrl).toWellFormed(),
  }));

/**
 * Describes the element of a frame that axe-core may not have found: its path through shadow roots, from the outermost host.
 * @returns as JSON; `null` if it is known, invisible, or in another document
 */
function frameOwner(element) {
  if (element.ownerDocument !== document || frames.includes(element) || !element.checkVisibility({ visibilityProperty: true }))
    return 'null';
  const path = [];
  let inClosedRoot = false;
  for (let at = element; at !== null; at = hostOf(at)) {
    if (at.closest('[aria-hidden="true" i]') !== null) return 'null';
    path.unshift(plainSelector(at));
    inClosedRoot ||= at.getRootNode().mode === 'closed';
  }
  const name = element.localName;
  const url = (element.getAttribute(name === 'object' ? 'data' : 'src') ?? '').slice(0, LIMITS.frameUrl).toWellFormed();
  return JSON.stringify({ path, name, inClosedRoot, url });
}

const hostOf = (element) => element.getRootNode().host ?? null;

/** A selector of an element in its root: its ID, or the path of its ancestors. */
function plainSelector(element) {
  if (element.id !== '' && element.id.length <= LIMITS.selector / 2) return `#${CSS.escape(element.id)}`;
  return endOf([axe.utils.getAncestry(element)].flat().at(-1));
}

globalThis.curbcut = {
  ...globalThis.curbcut,
  /** That of axe-core, which keeps it. */
  document,
  /** Tests a document that has no frames, or a part of one. `htmlTotal` limits the HTML of its results, in characters. */
  run: async (options, htmlTotal, context = document) => {
    begin(null);
    refuseHidden();
    globalThis.curbcut.remember();
    selectors = new WeakMap();
    const results = Object.fromEntries(LISTS.map((list) => [list, []]));
    for (const run of runsOf(options)) {
      const found = await axe.run(context, { ...run, elementRef: true });
      for (const list of LISTS) results[list].push(...found[list]);
    }
    return slim(results, { node: ({ element }) => describe(element, htmlTotal), related: ({ element }) => outline(element) });
  },
  /** Tests one of several documents. `context` and `place` come from the parent of this frame; null for the page itself. */
  partial: async ({ context, place }, options, htmlTotal) => {
    begin(place);
    refuseHidden();
    globalThis.curbcut.remember();
    elements = new Map();
    selectors = new WeakMap();
    try {
      const [first, ...others] = runsOf(options);
      const partial = await axe.runPartial(context ?? document, first);
      for (const run of others) partial.results.push(...(await axe.runPartial(context ?? document, run)).results);
      describePartial(partial, htmlTotal);
      frames = partial.frames.map((spec) => elements.get(spec));
      return JSON.stringify({
        partial: JSON.stringify(partial),
        hidden: hiddenBy(SILENT_NAMES),
        frames: describeFrames(partial.frames, context ?? { focusable: true, page: true }),
      });
    } finally {
      elements = null;
    }
  },
  frameElement: (index) => frames[index],
  frameOwner,
  /** Merges the partial results of all documents. */
  finish: async (partials, options) =>
    slim(await axe.finishRun(partials, { ...options, ancestry: true }), {
      node: ({ ancestry }) => ancestry.at(-1),
      // A finding of another document is described itself.
      related: ({ ancestry }) => ancestry?.at(-1)?.html ?? ancestry?.at(-1),
    }),
};
