/** Which axe-core rules a conformance target runs, and which success criteria a rule stands for. */
import type { WcagLevel, WcagVersion } from './options.ts';

const LEVELS: Readonly<Record<WcagLevel, readonly string[]>> = { A: ['a'], AA: ['a', 'aa'], AAA: ['a', 'aa', 'aaa'] };
const VERSIONS: Readonly<Record<WcagVersion, readonly string[]>> = { '2.1': ['2', '21'], '2.2': ['2', '21', '22'] };

/**
 * axe-core's rule tags for a target, cumulatively: 2.2 AA runs the rules of 2.0, 2.1 and 2.2 at A and AA.
 * Tags that axe-core does not know match nothing, which is what is meant.
 */
export function axeTags(level: WcagLevel, version: WcagVersion): string[] {
  return VERSIONS[version].flatMap((prefix) => LEVELS[level].map((suffix) => `wcag${prefix}${suffix}`));
}

/**
 * The success criteria among a rule's tags, as `1.4.3`. Tags are `wcag` + principle + guideline + criterion,
 * of which only the last may have two digits (`wcag1412` is 1.4.12).
 */
export function successCriteria(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => {
    const match = /^wcag(\d)(\d)(\d{1,2})$/.exec(tag);
    return match ? [`${match[1]}.${match[2]}.${match[3]}`] : [];
  });
}
