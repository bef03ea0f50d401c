/**
 * Runs in our world of every document, after axe-core. Describes the form that asks for a password or a user name, so that
 * the crawl can judge whether the document is a sign-in page.
 */

/** Types of inputs that a person fills in. */
const FILLED = new Set(['text', 'email', 'tel', 'number', 'url', 'search', 'date', 'password']);
/** Text in these elements is not the content of the page. */
const AROUND = [
  'header,nav,footer,aside,dialog,script,style,noscript,template,title,option',
  '[role="banner"],[role="navigation"],[role="contentinfo"],[role="complementary"],[role="dialog"],[role="alertdialog"]',
  '[id*="cookie" i],[class*="cookie" i],[id*="consent" i],[class*="consent" i]',
].join();
/** The search for text outside the form ends here, in characters. */
const MAX_TEXT = 2000;
const MAX_LABEL = 500;

const completes = (field, token) => field.autocomplete.split(/\s+/).includes(token);
const isIdentifier = (field) => field.type === 'email' || ['username', 'email', 'webauthn'].some((token) => completes(field, token));

/** The form of a field, or the closest element that also has a button. */
function formOf(field) {
  const form = field.closest('form');
  if (form !== null) return form;
  let element = field.parentElement;
  while (element !== null && element.querySelector('button,input[type="submit" i],[role="button"]') === null)
    element = element.parentElement;
  return element;
}

/** The length of the visible text that belongs neither to the form nor to what surrounds every page of the site. */
function textOutside(form) {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  let length = 0;
  for (let node = walker.nextNode(); node !== null && length < MAX_TEXT; node = walker.nextNode()) {
    const text = node.data.trim();
    const parent = node.parentElement;
    if (text === '' || parent === null || Node.prototype.contains.call(form, node) || parent.closest(AROUND) !== null) continue;
    if (parent.checkVisibility({ visibilityProperty: true })) length += text.length;
  }
  return length;
}

/** The texts that name the page: its title, its headings, and the buttons of the form. */
function labelOf(form) {
  const buttons = Element.prototype.querySelectorAll.call(form, 'button,input[type="submit" i],[role="button"],legend');
  const named = [...document.querySelectorAll('h1,h2,h3'), ...buttons].map((element) => element.value || element.textContent);
  return [document.title, ...named].join(' | ').replace(/\s+/g, ' ').slice(0, MAX_LABEL);
}

/**
 * @param inputs the inputs of the document and its open shadow roots
 * @returns null if no visible input asks for a password or a user name
 */
function signInForm(inputs) {
  const fields = inputs.filter((field) => FILLED.has(field.type) && field.checkVisibility({ visibilityProperty: true }));
  const passwords = fields.filter(({ type }) => type === 'password');
  const asked = passwords[0] ?? fields.find(isIdentifier);
  if (asked === undefined) return null;
  const form = formOf(asked);
  // Text in shadow roots is not counted, so a form in one is never alone.
  const inDocument = form !== null && form.getRootNode() === document && form.closest('header,nav,footer,aside') === null;
  return {
    passwords: passwords.length,
    newPassword: passwords.some((field) => completes(field, 'new-password')),
    fields: fields.length,
    textOutside: inDocument ? textOutside(form) : MAX_TEXT,
    label: form === null ? document.title.slice(0, MAX_LABEL) : labelOf(form),
  };
}

globalThis.curbcut = { ...globalThis.curbcut, signInForm };
