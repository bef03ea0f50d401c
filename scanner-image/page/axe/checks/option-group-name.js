/** Runs in our world. A rule of ours: radio buttons or checkboxes of one name need a name of their group. */

const { getRole } = axe.commons.aria;
const { isVisibleToScreenReaders } = axe.commons.dom;
const { accessibleText, accessibleTextVirtual, sanitize } = axe.commons.text;
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

globalThis.curbcutAddRule('option-group-name', {
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
