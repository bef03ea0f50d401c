/** What makes the findings of a rule. Pure. */

/** axe-core alone; axe-core with checks of ours; rules of ours that run inside axe-core. */
export const ENGINES = ['axe-core', 'axe-core+curbcut', 'curbcut'] as const;
export type Engine = (typeof ENGINES)[number];

/** Rules of axe-core that find more with a check of ours (`scanner-image/axe/checks/`). */
const EXTENDED_RULES: ReadonlySet<string> = new Set(['avoid-inline-spacing', 'color-contrast', 'css-orientation-lock']);

export const engineOf = (rule: string): Engine => (EXTENDED_RULES.has(rule) ? 'axe-core+curbcut' : 'axe-core');
