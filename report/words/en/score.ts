/** The words of the sentences that explain a score and a verdict. */
import type { Impact } from '../../../core/scan/impacts.ts';
import type { ThresholdName } from '../../../core/scan/thresholds.ts';

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
  thresholds: {
    minScore: { name: 'Score', allowed: 'at least {allowed}', missed: 'the score of {measured} is below the minimum of {allowed}' },
    maxViolations: {
      name: 'Violations',
      allowed: 'at most {allowed}',
      missed: { one: '{n} violation, at most {allowed} allowed', other: '{n} violations, at most {allowed} allowed' },
    },
    maxNewViolations: {
      name: 'New violations',
      allowed: 'at most {allowed}',
      missed: { one: '{n} new violation, at most {allowed} allowed', other: '{n} new violations, at most {allowed} allowed' },
    },
    failOnSeverity: { name: 'Violations of severity “{allowed}” or worse', allowed: 'none', missed: '{violations}, none allowed' },
    minCoverage: {
      name: 'Tested pages (%)',
      allowed: 'at least {allowed}',
      missed: 'only {measured}% of the pages could be tested, at least {allowed}% required',
    },
  } satisfies Record<ThresholdName, { name: string; allowed: string; missed: string | object }>,
  notCompared: 'there was no baseline to compare with, so new violations could not be counted',
  scoreMet: 'the score of {score} meets the minimum of {minimum}',
  scoreNotJudged: 'the score of {score} does not decide, because no minimum is set',
};
