/** The words of the sentences that explain a score and a verdict. */
import type { Impact } from '../../../core/scan/impacts.ts';

export const score = {
  average: {
    one: 'The score of {score} is that of the only tested page',
    other: 'The score of {score} is the average of {n} tested pages',
  },
  counting: 'A rule that fails lowers the score of a page once, by its severity, however many elements fail it.',
  none: 'no violations',
  violations: {
    critical: { one: '{n} critical violation', other: '{n} critical violations' },
    serious: { one: '{n} serious violation', other: '{n} serious violations' },
    moderate: { one: '{n} moderate violation', other: '{n} moderate violations' },
    minor: { one: '{n} minor violation', other: '{n} minor violations' },
  } satisfies Record<Impact, object>,
  passed: { one: 'Passed: the only threshold is met.', other: 'Passed: all {n} thresholds are met.' },
  notPassed: 'Did not pass: {reasons}.',
  knownNotCounted: 'known issues not counted',
  missed: {
    minScore: 'the score of {measured} is below the minimum of {allowed}',
    maxViolations: { one: '{n} violation, at most {allowed} allowed', other: '{n} violations, at most {allowed} allowed' },
    maxNewViolations: { one: '{n} new violation, at most {allowed} allowed', other: '{n} new violations, at most {allowed} allowed' },
    notCompared: 'there was no baseline to compare with, so new violations could not be counted',
    failOnSeverity: '{violations}, none allowed',
    minCoverage: 'only {measured}% of the pages could be tested, at least {allowed}% required',
  },
  scoreMet: 'the score of {score} meets the minimum of {minimum}',
  scoreNotJudged: 'the score of {score} has no minimum',
};
