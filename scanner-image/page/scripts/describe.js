/**
 * Runs in the isolated world after visible.js. Describes elements for the report: their HTML, their landmark and their place. axe-core's own
 * HTML is cut at 300 characters, and unrelated elements become equal. `LIMITS` comes from `source.ts`.
 *
 * Getters are taken from the prototypes for the same reason as in visible.js. Reading stops at the limits, so that a huge element
 * costs no more than a small one.
 */

const LIMITS = globalThis.curbcutLimits;
const { getter, nameOf: localNameOf, parentOf, typeOf, attributeOf, boxOf } = globalThis.curbcutSeen;
const attributesOf = getter(Element.prototype, 'attributes');
const tagNameOf = getter(Element.prototype, 'tagName');
const namespaceOf = getter(Element.prototype, 'namespaceURI');
const firstChildOf = getter(Node.prototype, 'firstChild');
const nextSiblingOf = getter(Node.prototype, 'nextSibling');
const dataOf = getter(CharacterData.prototype, 'data');
const lengthOf = getter(CharacterData.prototype, 'length');

const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
const RAW = new Set('style script xmp iframe noembed noframes plaintext noscript'.split(' '));
/** Their content is the page and not the element. */
const DOCUMENT = new Set(['html', 'head', 'body', 'frameset']);
const NAMESPACES = new Set(['http://www.w3.org/1999/xhtml', 'http://www.w3.org/2000/svg', 'http://www.w3.org/1998/Math/MathML']);
const CUT = '…';

const escapeText = (text) => text.replace(/[&<>\u00a0]/g, (found) => ESCAPES[found]);
const escapeValue = (text) => text.replace(/[&<>"\u00a0]/g, (found) => ESCAPES[found]);
const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\u00a0': '&nbsp;' };

/** FNV-1a of the length, the first and the last characters: values that differ late stay different. */
function hashOf(text) {
  const sample = text.length <= 8192 ? text : text.slice(0, 4096) + text.slice(-4096);
  let hash = 0x811c9dc5 ^ text.length;
  for (let at = 0; at < sample.length; at++) hash = Math.imul(hash ^ sample.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** Cuts a long value and appends its hash. */
function shorten(text, max) {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}${CUT}#${hashOf(text)}`;
}

const nameOf = (element) => (NAMESPACES.has(namespaceOf(element)) ? localNameOf(element) : tagNameOf(element));

/** Text of limited length; `full` is set if it did not fit. */
class Output {
  constructor(max) {
    this.max = max;
    this.text = '';
    this.full = false;
    // More nodes do not fit, except for comments and empty texts.
    this.nodes = max;
  }
  fits(length) {
    return this.text.length + length <= this.max;
  }
  write(text) {
    if (this.full || !this.fits(text.length)) this.full = true;
    else this.text += text;
  }
}

function attributesText(element, max) {
  const texts = [];
  for (const { name, value } of attributesOf(element)) {
    texts.push(` ${name.slice(0, 200)}="${escapeValue(shorten(value, name === 'class' ? Math.max(max, LIMITS.classLength) : max))}"`);
    // More would not fit, whatever their length is.
    if (texts.length >= LIMITS.html / 4) break;
  }
  return texts;
}

function writeElement(output, element, max) {
  const name = nameOf(element);
  output.write(`<${name}`);
  for (const text of attributesText(element, max.value)) output.write(text);
  output.write('>');
  if (VOID.has(name)) return;
  for (let child = firstChildOf(element); child !== null && !output.full; child = nextSiblingOf(child)) {
    if (--output.nodes < 0) output.full = true;
    const type = typeOf(child);
    if (type === Node.ELEMENT_NODE) writeElement(output, child, { value: max.inner, inner: max.inner, text: max.text });
    else if (type === Node.TEXT_NODE) {
      // A page may have megabytes of text in each of many nested elements. Escaping only makes it longer.
      const length = lengthOf(child);
      if (length <= max.text && !output.fits(length)) output.full = true;
      else {
        const text = shorten(dataOf(child), max.text);
        output.write(RAW.has(name) ? text : escapeText(text));
      }
    }
  }
  output.write(`</${name}>`);
}

/** The start tag, as many attributes as fit, and a mark for the content. */
function outline(element, length) {
  const name = nameOf(element).slice(0, 100);
  const end = VOID.has(name) ? '>' : `>${CUT}</${name}>`;
  const output = new Output(length - end.length - 2);
  output.write(`<${name}`);
  for (const text of attributesText(element, LIMITS.value)) {
    if (output.fits(text.length)) output.write(text);
    else {
      output.max += 2;
      output.write(` ${CUT}`);
      break;
    }
  }
  return output.text + end;
}

/**
 * The element's own HTML: whole if it fits; else with shortened texts and values inside; else without its content.
 * @param detail whole elements; otherwise only outlines
 */
function htmlOf(element, detail) {
  if (!detail) return outline(element, LIMITS.outline);
  if (!DOCUMENT.has(localNameOf(element)))
    for (const max of [
      { value: LIMITS.value, inner: LIMITS.value, text: Infinity },
      { value: LIMITS.value, inner: LIMITS.shortened, text: LIMITS.shortened },
    ]) {
      const output = new Output(LIMITS.html);
      writeElement(output, element, max);
      if (!output.full) return output.text;
    }
  return outline(element, LIMITS.html);
}

const SECTIONING =
  'article,aside,main,nav,section,[role="article"],[role="complementary"],[role="main"],[role="navigation"],[role="region"]';

function landmarkAt(element) {
  const role = attributeOf(element, 'role');
  if (role !== null) {
    const first = role.trim().split(/\s+/)[0].toLowerCase();
    if (LIMITS.landmarks.includes(first)) return first;
    if (first !== '') return null;
  }
  const tag = localNameOf(element);
  if (!Object.hasOwn(LIMITS.landmarkElements, tag)) return null;
  // The header of an article is not a banner.
  if ((tag === 'header' || tag === 'footer') && Element.prototype.closest.call(element, SECTIONING) !== null) return null;
  return LIMITS.landmarkElements[tag];
}

/** The innermost landmark that contains an element, through shadow roots, within its document. */
function landmarkOf(element) {
  let node = element;
  for (let depth = 0; node !== null && depth < LIMITS.depth; depth++) {
    if (typeOf(node) === Node.ELEMENT_NODE) {
      const landmark = landmarkAt(node);
      if (landmark !== null) return landmark;
    }
    node = node instanceof ShadowRoot ? node.host : parentOf(node);
  }
  return null;
}

// The boxes of elements in the page.

const meet = (a, b) => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});

const shifted = ({ left, top, right, bottom }, x, y) => ({ left: left + x, top: top + y, right: right + x, bottom: bottom + y });

/** The box of an element in its viewport. That of an inline element contains its content: the box of a link does not contain its picture. */
function wholeBox(element) {
  if (getComputedStyle(element).display !== 'inline') return boxOf(element);
  const range = document.createRange();
  range.selectNodeContents(element);
  const boxes = [boxOf(element), range.getBoundingClientRect()].filter(({ width, height }) => width > 0 && height > 0);
  if (boxes.length === 0) return boxOf(element);
  return {
    left: Math.min(...boxes.map(({ left }) => left)),
    top: Math.min(...boxes.map(({ top }) => top)),
    right: Math.max(...boxes.map(({ right }) => right)),
    bottom: Math.max(...boxes.map(({ bottom }) => bottom)),
  };
}

/** The viewport of a frame, in the viewport of its document. Its left and top edges are the origin of boxes in the frame. */
function viewOf(frame) {
  const { left, top, right, bottom } = boxOf(frame);
  const { paddingLeft, paddingTop } = getComputedStyle(frame);
  return { left: left + frame.clientLeft + parseFloat(paddingLeft), top: top + frame.clientTop + parseFloat(paddingTop), right, bottom };
}

/**
 * Where a document is displayed in the page, in CSS pixels of the page's document. It has the origin of its viewport, and the part
 * of it that the frames around it show. Null: it is the page's own document.
 */
let place = null;

/** A box of this document's viewport in the page's document. */
const onPage = (box) => (place === null ? shifted(box, scrollX, scrollY) : meet(shifted(box, place.x, place.y), place.shown));

const bounded = (value) => Math.round(Math.min(Math.max(value, -LIMITS.position), LIMITS.position));

/** The place of the document of a frame. */
function placeOf(frame) {
  const view = viewOf(frame);
  const { left, top } = place === null ? shifted(view, scrollX, scrollY) : shifted(view, place.x, place.y);
  return { x: left, y: top, shown: onPage(view) };
}

/** The box of an element in the page, in CSS pixels; null if it has none, or if the frames around it do not show it. */
function boxOnPage(element) {
  const { left, top, right, bottom } = onPage(wholeBox(element));
  if (!(right > left && bottom > top)) return null;
  const [x, y] = [bounded(left), bounded(top)];
  return { x, y, width: Math.max(1, bounded(right - left)), height: Math.max(1, bounded(bottom - top)) };
}

globalThis.curbcutBoxes = { meet, shifted, wholeBox, viewOf, placeOf };

let known = new WeakMap();
let outlines = new WeakMap();
let written = 0;

globalThis.curbcutDescribe = {
  /** Starts the description of a document. @param given where it is displayed in the page; null for the page itself */
  begin(given) {
    place = given;
    known = new WeakMap();
    outlines = new WeakMap();
    written = 0;
  },
  /** Whether an element still has the HTML of a description. */
  matches: (element, html) => htmlOf(element, true) === html || htmlOf(element, false) === html,
  /** Returns the start tag of an element that explains a finding. */
  outline(element) {
    if (!(element instanceof Element)) return undefined;
    let text = outlines.get(element);
    if (text === undefined) {
      text = htmlOf(element, false);
      outlines.set(element, text);
    }
    return text;
  },
  /** Describes an element. After `total` characters of a document only outlines are written, so that no page fills the export. */
  describe(element, total) {
    let description = known.get(element);
    if (description === undefined) {
      description = { html: htmlOf(element, written < total), landmark: landmarkOf(element), box: boxOnPage(element) };
      known.set(element, description);
    }
    written += description.html.length;
    return description;
  },
};
