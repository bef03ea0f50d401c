/** What makes the findings of a rule. Pure. */
import type { Impact } from '../../core/scan/impacts.ts';

/** axe-core alone; axe-core with checks of ours; rules of ours that run inside axe-core. The code is in `scanner-image/page/scripts/`. */
export const ENGINES = ['axe-core', 'axe-core+curbcut', 'curbcut'] as const;
export type Engine = (typeof ENGINES)[number];

/** Rules of axe-core that find more with a check of ours. */
const EXTENDED_RULES: ReadonlySet<string> = new Set(['avoid-inline-spacing', 'color-contrast', 'css-orientation-lock']);

export interface OwnRule {
  impact: Impact;
  /** By the system of axe-core. */
  tags: readonly string[];
  helpUrl: string;
}

/** Rules that axe-core does not have. Their elements need review and are never violations. Their texts are in `words/`. */
export const OWN_RULES: Readonly<Record<string, OwnRule>> = {
  'option-group-name': {
    impact: 'moderate',
    tags: ['cat.forms', 'wcag2a', 'wcag131', 'EN-301-549', 'EN-9.1.3.1'],
    helpUrl: 'https://www.w3.org/WAI/WCAG22/Techniques/html/H71',
  },
  'placeholder-only-label': {
    impact: 'moderate',
    tags: ['cat.forms', 'wcag2a', 'wcag332', 'EN-301-549', 'EN-9.3.3.2'],
    helpUrl: 'https://www.w3.org/WAI/WCAG22/Understanding/labels-or-instructions.html',
  },
  'empty-alt-with-title': {
    impact: 'minor',
    tags: ['cat.text-alternatives', 'wcag2a', 'wcag111', 'EN-301-549', 'EN-9.1.1.1'],
    helpUrl: 'https://www.w3.org/WAI/WCAG22/Techniques/html/H67',
  },
};

const UNDERSTANDING = 'https://www.w3.org/WAI/WCAG22/Understanding';

/** Rules of ours that test a page in a state (scripts/states.js, scripts/keyboard.js). Their texts are in `words/` too. */
export const STATE_RULES: Readonly<Record<string, OwnRule>> = {
  reflow: {
    impact: 'serious',
    tags: ['cat.structure', 'wcag21aa', 'wcag1410', 'EN-301-549', 'EN-9.1.4.10'],
    helpUrl: `${UNDERSTANDING}/reflow.html`,
  },
  'text-cut': {
    impact: 'serious',
    tags: ['cat.structure', 'wcag21aa', 'wcag1410', 'EN-301-549', 'EN-9.1.4.10'],
    helpUrl: `${UNDERSTANDING}/reflow.html`,
  },
  'text-spacing': {
    impact: 'serious',
    tags: ['cat.structure', 'wcag21aa', 'wcag1412', 'EN-301-549', 'EN-9.1.4.12'],
    helpUrl: `${UNDERSTANDING}/text-spacing.html`,
  },
  'keyboard-trap': {
    impact: 'critical',
    tags: ['cat.keyboard', 'wcag2a', 'wcag212', 'EN-301-549', 'EN-9.2.1.2'],
    helpUrl: `${UNDERSTANDING}/no-keyboard-trap.html`,
  },
  'focus-not-reached': {
    impact: 'critical',
    tags: ['cat.keyboard', 'wcag2a', 'wcag211', 'EN-301-549', 'EN-9.2.1.1'],
    helpUrl: `${UNDERSTANDING}/keyboard.html`,
  },
  'focus-not-visible': {
    impact: 'serious',
    tags: ['cat.keyboard', 'wcag2aa', 'wcag247', 'EN-301-549', 'EN-9.2.4.7'],
    helpUrl: `${UNDERSTANDING}/focus-visible.html`,
  },
  'focus-on-hidden': {
    impact: 'serious',
    tags: ['cat.keyboard', 'wcag2aa', 'wcag247', 'EN-301-549', 'EN-9.2.4.7'],
    helpUrl: `${UNDERSTANDING}/focus-visible.html`,
  },
  'focus-obscured': {
    impact: 'serious',
    tags: ['cat.keyboard', 'wcag22aa', 'wcag2411'],
    helpUrl: `${UNDERSTANDING}/focus-not-obscured-minimum.html`,
  },
  'focus-moves': {
    impact: 'serious',
    tags: ['cat.keyboard', 'wcag2a', 'wcag321', 'EN-301-549', 'EN-9.3.2.1'],
    helpUrl: `${UNDERSTANDING}/on-focus.html`,
  },
  'skip-link-target': {
    impact: 'moderate',
    tags: ['cat.keyboard', 'wcag2a', 'wcag241', 'EN-301-549', 'EN-9.2.4.1'],
    helpUrl: `${UNDERSTANDING}/bypass-blocks.html`,
  },
};

export const isOwnRule = (rule: string): boolean => Object.hasOwn(OWN_RULES, rule) || Object.hasOwn(STATE_RULES, rule);

export function engineOf(rule: string): Engine {
  if (isOwnRule(rule)) return 'curbcut';
  return EXTENDED_RULES.has(rule) ? 'axe-core+curbcut' : 'axe-core';
}

/**
 * Here and not beside the computation, so that a store can name it without loading that. Increase this if the fingerprints of
 * unchanged elements change, and `SCORE_VERSION` with it.
 * 3: computed from what a rule is about in the element's HTML, without what tools generate; its landmark; and what is wrong.
 */
export const FINGERPRINT_VERSION = 3;

/**
 * Increase this if the formula changes, if our own checks decide more or other elements, or with `FINGERPRINT_VERSION`. Scores of
 * different versions cannot be compared.
 * 3: own checks besides axe-core's (`engines.ts`). 4: `FINGERPRINT_VERSION` 3.
 */
export const SCORE_VERSION = 4;
