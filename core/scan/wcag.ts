/** WCAG conformance targets: which axe-core rules each one runs, and which success criteria a rule covers. */

export const WCAG_LEVELS = ['A', 'AA', 'AAA'] as const;
export type WcagLevel = (typeof WCAG_LEVELS)[number];

export const WCAG_VERSIONS = ['2.1', '2.2'] as const;
export type WcagVersion = (typeof WCAG_VERSIONS)[number];

const LEVELS: Readonly<Record<WcagLevel, readonly string[]>> = { A: ['a'], AA: ['a', 'aa'], AAA: ['a', 'aa', 'aaa'] };
const VERSIONS: Readonly<Record<WcagVersion, readonly string[]>> = { '2.1': ['2', '21'], '2.2': ['2', '21', '22'] };

/**
 * axe-core's rule tags for a target, cumulatively: 2.2 AA runs the rules of 2.0, 2.1 and 2.2 at A and AA.
 * Tags that axe-core does not define match no rule.
 */
export function axeTags(level: WcagLevel, version: WcagVersion): string[] {
  return VERSIONS[version].flatMap((prefix) => LEVELS[level].map((suffix) => `wcag${prefix}${suffix}`));
}

/**
 * The success criteria among a rule's tags, as `1.4.3`. Tags are `wcag` + principle + guideline + criterion,
 * and only the criterion may have two digits (`wcag1412` is 1.4.12).
 */
export function successCriteria(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => {
    const match = /^wcag(\d)(\d)(\d{1,2})$/.exec(tag);
    return match ? [`${match[1]}.${match[2]}.${match[3]}`] : [];
  });
}
