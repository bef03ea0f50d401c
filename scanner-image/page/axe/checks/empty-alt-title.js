/** Runs in our world. A rule of ours: an image with `alt=""` is decorative and should not have a title. */

const { arialabelText, arialabelledbyText } = axe.commons.aria;
const { isVisibleOnScreen } = axe.commons.dom;
const { sanitize, visibleVirtual } = axe.commons.text;
/** What an image is a part of, and its text. */
const CONTEXT = 'a, button, figure, label, summary, [role="link"], [role="button"]';
/** Smaller images count visitors, in CSS pixels. */
const SMALL = 1;

const normal = (text) => sanitize(text).toLowerCase();

function isShown(node, virtual) {
  const { width, height } = node.getBoundingClientRect();
  return width > SMALL && height > SMALL && isVisibleOnScreen(virtual);
}

globalThis.curbcutAddRule('empty-alt-with-title', {
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
