/**
 * Runs in the isolated world after axe-core. Adds rules of ours to axe-core. Their elements always need review and are never violations.
 * What is known about the rules comes from report/schema/engines.ts.
 */

const { arialabelText, arialabelledbyText, getRole } = axe.commons.aria;
const { isVisibleOnScreen, isVisibleToScreenReaders } = axe.commons.dom;
const { accessibleText, accessibleTextVirtual, sanitize, visibleVirtual } = axe.commons.text;
const RULES = globalThis.curbcutOwnRules;

/** Adds a rule. `check` returns whether an element is right; `matches` whether the rule is about it. */
function addOwnRule(id, { selector, matches, check }) {
  const { impact, tags, help, description, helpUrl, message } = RULES[id];
  axe.configure({
    checks: [{ id, evaluate: check, metadata: { impact, messages: { pass: '', fail: message } } }],
    rules: [{ id, selector, matches, tags, any: [id], all: [], none: [], reviewOnFail: true, metadata: { help, description, helpUrl } }],
  });
}

// Radio buttons or checkboxes of one name need a name of their group.

const OPTIONS = new Set(['radio', 'checkbox']);
const GROUPS = new Set(['group', 'radiogroup']);
/** They name a group if they contain nothing else to fill in. */
const CONTAINERS = new Set(['region', 'form', 'dialog', 'alertdialog', 'search', 'toolbar', 'menu', 'tabpanel', 'article']);
const TABLES = new Set(['table', 'grid', 'treegrid']);
const HEADERS = 'th, [role="columnheader"], [role="rowheader"]';
const FIELDS = 'input, select, textarea';
const NO_FIELDS = new Set(['hidden', 'submit', 'button', 'reset', 'image']);

/** Whether an element is an option of a group. With another role it is something else, such as a switch. */
function isOption(virtual) {
  const { type, name } = virtual.actualNode;
  return OPTIONS.has(type) && name !== '' && [null, type].includes(virtual.attr('role')) && isVisibleToScreenReaders(virtual);
}

/** The groups of a page by their first option. By the page's tree, which is new in each run. */
const known = new WeakMap();
function groupsOf(page) {
  let groups = known.get(page);
  if (groups !== undefined) return groups;
  // Options belong together within their form, or within their document or shadow root.
  const owners = new Map();
  for (const option of axe.utils.querySelectorAll(page, 'input').filter(isOption)) {
    const { form, type, name } = option.actualNode;
    const owner = form ?? option.actualNode.getRootNode();
    const names = owners.get(owner) ?? new Map();
    owners.set(owner, names);
    const options = names.get(`${type} ${name}`) ?? [];
    names.set(`${type} ${name}`, options);
    options.push(option);
  }
  const found = [...owners.values()].flatMap((names) => [...names.values()]);
  groups = new Map(found.filter((options) => options.length > 1).map((options) => [options[0], options]));
  known.set(page, groups);
  return groups;
}

function ancestorsOf(virtual) {
  const ancestors = [];
  for (let at = virtual.parent; at; at = at.parent) if (at.actualNode instanceof Element) ancestors.push(at);
  return ancestors;
}

/** The elements that contain all options, as displayed. */
function commonAncestors([first, ...others]) {
  const shared = others.map((option) => new Set(ancestorsOf(option)));
  return ancestorsOf(first).filter((ancestor) => shared.every((ancestors) => ancestors.has(ancestor)));
}

const childOf = (virtual, name) => virtual.children.find(({ props }) => props.nodeName === name)?.actualNode;
/** The text of a legend or summary. Browsers take only a child of the element for one. */
const childText = (virtual, name) => {
  const child = childOf(virtual, name);
  return child === undefined ? '' : sanitize(accessibleText(child));
};

function nameOf(virtual) {
  const { nodeName } = virtual.props;
  if (nodeName === 'details') return childText(virtual, 'summary');
  if (nodeName !== 'fieldset') return sanitize(accessibleTextVirtual(virtual));
  const { arialabelText, arialabelledbyText } = axe.commons.aria;
  return (
    sanitize(arialabelledbyText(virtual) || arialabelText(virtual)) || childText(virtual, 'legend') || sanitize(virtual.attr('title') ?? '')
  );
}

const fieldsIn = (virtual) =>
  axe.utils.querySelectorAll(virtual, FIELDS).filter((field) => !NO_FIELDS.has(field.actualNode.type) && isVisibleToScreenReaders(field));

/** Whether an element that contains all options of a group names the group. */
function names(virtual, options) {
  const role = getRole(virtual);
  if (virtual.props.nodeName === 'fieldset' || GROUPS.has(role)) return nameOf(virtual) !== '';
  if (TABLES.has(role)) return nameOf(virtual) !== '' || axe.utils.querySelectorAll(virtual, HEADERS).length > 0;
  return CONTAINERS.has(role) && nameOf(virtual) !== '' && fieldsIn(virtual).every((field) => options.includes(field));
}

const labelsOf = (virtual) => (virtual.attr('aria-labelledby') ?? '').split(/\s+/).filter((id) => id !== '');

/** Whether the name of each option includes the same other text, such as the question. */
const shareLabel = ([first, ...others]) => labelsOf(first).some((id) => others.every((option) => labelsOf(option).includes(id)));

addOwnRule('option-group-name', {
  selector: 'input',
  matches(_node, virtual) {
    const options = groupsOf(axe._tree[0]).get(virtual);
    return options !== undefined && options.some(({ actualNode }) => !actualNode.matches(':disabled'));
  },
  check(_node, _options, virtual) {
    const options = groupsOf(axe._tree[0]).get(virtual);
    if (shareLabel(options) || commonAncestors(options).some((ancestor) => names(ancestor, options))) return true;
    this.relatedNodes(options.slice(1).map(({ actualNode }) => actualNode));
    return false;
  },
});

// A placeholder should not be the only label of a text field.

const TEXT_TYPES = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number', 'textarea']);
const TEXT_ROLES = new Set(['textbox', 'searchbox', 'combobox', 'spinbutton']);
const UNREAD = new Set(['input', 'textarea', 'select', 'script', 'style']);
const FORMS = 'form, search, [role="search"]';
const BUTTONS = 'button, input, [role="button"]';
const BUTTON_TYPES = new Set(['submit', 'button', 'image']);

const isField = ({ actualNode: { type } }) => TEXT_TYPES.has(type);

const says = (text) => sanitize(text ?? '') !== '';

/** Whether a label has a text or a picture with one, apart from those of fields in it. */
function hasText(virtual) {
  const { nodeType, nodeName, nodeValue } = virtual.props;
  if (nodeType === Node.TEXT_NODE) return says(nodeValue);
  if (UNREAD.has(nodeName)) return false;
  return says(virtual.attr('aria-label')) || (nodeName === 'img' && says(virtual.attr('alt'))) || virtual.children.some(hasText);
}

/** Whether something else than the placeholder names a field. A label that is hidden is a violation already. */
const hasLabel = (node, virtual) =>
  says(arialabelText(virtual)) ||
  says(arialabelledbyText(virtual)) ||
  says(virtual.attr('title')) ||
  [...node.labels].some((label) => hasText(axe.utils.getNodeFromTree(label)));

const words = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** Whether a button beside the only field of a search labels it, as WCAG's technique G167 has it. */
function hasSearchButton(node, virtual) {
  const form = axe.utils.closest(virtual, FORMS);
  if (form === null || axe.utils.querySelectorAll(form, 'input, textarea').filter(isField).filter(isVisibleOnScreen).length > 1)
    return false;
  const isSearch = node.type === 'search' || getRole(virtual) === 'searchbox' || getRole(form) === 'search';
  const placeholder = words(node.placeholder);
  return axe.utils.querySelectorAll(form, BUTTONS).some((button) => {
    const { actualNode } = button;
    if (actualNode.localName === 'input' && !BUTTON_TYPES.has(actualNode.type)) return false;
    const name = isVisibleOnScreen(button) ? words(accessibleTextVirtual(button)) : '';
    return name !== '' && (isSearch || placeholder.includes(name) || name.includes(placeholder));
  });
}

addOwnRule('placeholder-only-label', {
  selector: 'input[placeholder], textarea[placeholder]',
  matches: (node, virtual) =>
    isField(virtual) &&
    words(node.placeholder) !== '' &&
    !node.matches(':disabled, [aria-disabled="true"]') &&
    TEXT_ROLES.has(getRole(virtual)) &&
    isVisibleOnScreen(virtual),
  check: (node, _options, virtual) => hasLabel(node, virtual) || hasSearchButton(node, virtual),
});

// An image with `alt=""` is decorative and should not have a title.

/** What an image is a part of, and its text. */
const CONTEXT = 'a, button, figure, label, summary, [role="link"], [role="button"]';
/** Smaller images count visitors, in CSS pixels. */
const SMALL = 1;

const normal = (text) => sanitize(text).toLowerCase();

function isShown(node, virtual) {
  const { width, height } = node.getBoundingClientRect();
  return width > SMALL && height > SMALL && isVisibleOnScreen(virtual);
}

addOwnRule('empty-alt-with-title', {
  selector: 'img[alt][title]',
  // With a role or a name of ARIA the author has said what the image is.
  matches: (node, virtual) =>
    virtual.attr('alt') === '' &&
    normal(virtual.attr('title')) !== '' &&
    !virtual.hasAttr('role') &&
    sanitize(arialabelText(virtual) + arialabelledbyText(virtual)) === '' &&
    isShown(node, virtual),
  check(_node, _options, virtual) {
    const context = axe.utils.closest(virtual, CONTEXT);
    return context !== null && normal(visibleVirtual(context)).includes(normal(virtual.attr('title')));
  },
});
