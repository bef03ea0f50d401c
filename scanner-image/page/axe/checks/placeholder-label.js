/** Runs in our world. A rule of ours: a placeholder should not be the only label of a text field. */

const { arialabelText, arialabelledbyText, getRole } = axe.commons.aria;
const { isVisibleOnScreen } = axe.commons.dom;
const { accessibleTextVirtual, sanitize } = axe.commons.text;
const TYPES = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number', 'textarea']);
const ROLES = new Set(['textbox', 'searchbox', 'combobox', 'spinbutton']);
const FIELDS = new Set(['input', 'textarea', 'select', 'script', 'style']);
const FORMS = 'form, search, [role="search"]';
const BUTTONS = 'button, input, [role="button"]';
const BUTTON_TYPES = new Set(['submit', 'button', 'image']);

const isField = ({ actualNode: { type } }) => TYPES.has(type);

const says = (text) => sanitize(text ?? '') !== '';

/** Whether a label has a text or a picture with one, apart from those of fields in it. */
function hasText(virtual) {
  const { nodeType, nodeName, nodeValue } = virtual.props;
  if (nodeType === Node.TEXT_NODE) return says(nodeValue);
  if (FIELDS.has(nodeName)) return false;
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

globalThis.curbcutAddRule('placeholder-only-label', {
  selector: 'input[placeholder], textarea[placeholder]',
  matches: (node, virtual) =>
    isField(virtual) &&
    words(node.placeholder) !== '' &&
    !node.matches(':disabled, [aria-disabled="true"]') &&
    ROLES.has(getRole(virtual)) &&
    isVisibleOnScreen(virtual),
  check: (node, _options, virtual) => hasLabel(node, virtual) || hasSearchButton(node, virtual),
});
