/** The words of the PDF report: the same keys in every language. */
import type { PageFailureReason } from '../../../../core/report/schema.ts';
import type { Impact } from '../../../../core/scan/impacts.ts';

/** A text for each plural category of its language (CLDR); `{n}` is the number. */
export type Plural = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

export interface Texts {
  title: string;
  /** `{site}` */
  titleOf: string;
  subject: string;
  /** `{date}` */
  testedOn: string;
  /** `{version}` `{level}` */
  target: string;
  passed: string;
  notPassed: string;
  noThresholds: string;
  /** `{n}` `{m}` */
  thresholdsMet: string;
  /** `{n}` `{m}` */
  thresholdsMissed: string;
  noThresholdsDetail: string;
  score: string;
  outOf: string;
  /** `{score}` */
  scoreAlt: string;
  /** `{score}` `{minimum}` */
  scoreAltMinimum: string;
  passedAlt: string;
  notPassedAlt: string;
  noThresholdsAlt: string;
  pagesTested: string;
  /** `{n}` `{m}` */
  nOfM: string;
  violations: string;
  rootCauses: string;
  needsReview: string;
  /** `{n}` `{m}` */
  partial: string;
  severityHeading: string;
  severity: string;
  severities: Record<Impact, string>;
  /** As short as a column's heading must be. */
  severitiesShort: Record<Impact, string>;
  thresholdsHeading: string;
  threshold: string;
  allowed: string;
  measured: string;
  result: string;
  met: string;
  missed: string;
  fixFirst: string;
  elements: Plural;
  onPages: Plural;
  rootCausesIntro: string;
  noViolations: string;
  noViolationsDetail: string;
  example: string;
  selector: string;
  inFrame: string;
  inShadow: string;
  howToFix: string;
  /** `{rule}` */
  aboutRule: string;
  where: string;
  morePages: Plural;
  furtherCauses: string;
  furtherCausesIntro: string;
  cause: string;
  leftOutCauses: Plural;
  pagesHeading: string;
  page: string;
  pages: string;
  httpStatus: string;
  total: string;
  elementsColumn: string;
  leftOutPages: Plural;
  untestedHeading: string;
  untestedIntro: string;
  reason: string;
  reasons: Record<PageFailureReason, string>;
  aboutHeading: string;
  aboutAutomated: string;
  aboutCounting: string;
  aboutScore: string;
  aboutReview: string;
  aboutGlyphs: string;
  /** `{curbcut}` `{axe}` `{browser}` */
  aboutTools: string;
  /** `{id}` */
  aboutScan: string;
  coverNote: string;
  /** `{n}` `{m}` */
  pageOf: string;
}
