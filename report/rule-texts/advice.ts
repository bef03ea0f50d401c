/** Which rules share the texts "why it matters" and "how to fix it". A rule that is not listed has texts of its own name. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  'image-alt': ['role-img-alt', 'svg-img-alt', 'object-alt'],
  'aria-attributes': [
    'aria-allowed-attr',
    'aria-braille-equivalent',
    'aria-conditional-attr',
    'aria-prohibited-attr',
    'aria-valid-attr',
    'aria-valid-attr-value',
  ],
  'aria-roles': ['aria-allowed-role', 'aria-deprecated-role', 'aria-roledescription'],
  'aria-structure': ['aria-required-children', 'aria-required-parent'],
  'aria-name': [
    'aria-command-name',
    'aria-dialog-name',
    'aria-meter-name',
    'aria-progressbar-name',
    'aria-tab-name',
    'aria-tooltip-name',
    'aria-treeitem-name',
  ],
  'aria-hidden': ['aria-hidden-focus', 'aria-text', 'presentation-role-conflict'],
  'button-name': ['input-button-name', 'input-image-alt', 'summary-name'],
  'link-name': ['area-alt'],
  label: ['aria-input-field-name', 'aria-toggle-field-name', 'select-name'],
  'color-contrast': ['color-contrast-enhanced'],
  'html-lang': ['html-has-lang', 'html-lang-valid', 'html-xml-lang-mismatch'],
  'landmark-one-main': ['landmark-no-duplicate-main'],
  landmarks: [
    'landmark-banner-is-top-level',
    'landmark-complementary-is-top-level',
    'landmark-contentinfo-is-top-level',
    'landmark-main-is-top-level',
    'landmark-no-duplicate-banner',
    'landmark-no-duplicate-contentinfo',
    'landmark-unique',
  ],
  bypass: ['skip-link'],
  list: ['listitem', 'definition-list', 'dlitem'],
  'frame-title': ['frame-title-unique'],
  'not-tested': ['frame-tested', 'hidden-content'],
  'meta-viewport': ['meta-viewport-large'],
  'meta-refresh': ['meta-refresh-no-exceptions'],
  motion: ['blink', 'marquee'],
  captions: ['audio-caption', 'video-caption'],
  'duplicate-id': ['duplicate-id-active', 'duplicate-id-aria'],
  'table-headers': ['empty-table-header', 'scope-attr-valid', 'td-has-header', 'td-headers-attr', 'th-has-data-cells'],
  'table-name': ['table-duplicate-name', 'table-fake-caption'],
};

const BY_RULE = new Map(Object.entries(SHARED).flatMap(([advice, rules]) => rules.map((rule) => [rule, advice])));

/** Returns the name of the texts for a rule. */
export const adviceOf = (rule: string): string => BY_RULE.get(rule) ?? rule;
