/** The texts of the PDF report. The type requires every key in every language; `i18n.test.ts` compares the placeholders. */
import type { Plural, PluralOf } from '../../../../core/i18n.ts';
import type { Locale } from '../../../../core/scan/locales.ts';
import type { Landmark } from '../../../../core/report/landmarks.ts';
import type { PageFailureReason } from '../../../../core/report/schema.ts';
import type { Impact } from '../../../../core/scan/impacts.ts';

/** The texts of any language. */
export type Texts = TextsWith<Plural>;
/** The texts of one language, with all its plural forms. */
export type TextsOf<L extends Locale> = TextsWith<PluralOf<L>>;

interface TextsWith<Forms> {
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
  advice: string;
  adviceIntro: string;
  /** `{n}` `{m}` */
  partial: string;
  severityHeading: string;
  severity: string;
  severities: Record<Impact, string>;
  /** Short enough for the heading of a narrow column. */
  severitiesShort: Record<Impact, string>;
  thresholdsHeading: string;
  threshold: string;
  allowed: string;
  measured: string;
  result: string;
  met: string;
  missed: string;
  fixFirst: string;
  elements: Forms;
  onPages: Forms;
  rootCausesIntro: string;
  noViolations: string;
  noViolationsDetail: string;
  standards: string;
  /** The landmark that contains an element. */
  area: string;
  landmarks: Record<Landmark, string>;
  /** `{ratio}` `{required}` */
  contrast: string;
  /** `{color}` */
  foreground: string;
  /** `{color}` */
  background: string;
  /** `{size}` */
  fontSize: string;
  bold: string;
  /** `{page}` */
  pictureAlt: string;
  whyItMatters: string;
  selector: string;
  inFrame: string;
  inShadow: string;
  relatedElement: string;
  howToFix: string;
  morePoints: Forms;
  /** `{rule}` */
  aboutRule: string;
  where: string;
  morePages: Forms;
  furtherCauses: string;
  furtherCausesIntro: string;
  cause: string;
  leftOutCauses: Forms;
  pagesHeading: string;
  page: string;
  pages: string;
  httpStatus: string;
  total: string;
  elementsColumn: string;
  leftOutPages: Forms;
  untestedHeading: string;
  untestedIntro: string;
  reason: string;
  reasons: Record<PageFailureReason, string>;
  /** `{percent}` `{removed}` `{total}`; `n` is the number of causes. */
  leadingCauses: Forms;
  /** `{percent}` */
  coverage: string;
  pagesUntested: Forms;
  framesUntested: Forms;
  pagesWithCaveats: Forms;
  addressesLeft: Forms;
  reviewIntro: string;
  whatToCheck: string;
  undecided: string;
  furtherReviews: string;
  furtherReviewsIntro: string;
  sameHeading: string;
  sameIntro: string;
  sameAs: string;
  /** `{pages}` */
  linkedFrom: string;
  framesHeading: string;
  framesIntro: string;
  frame: string;
  caveatsHeading: string;
  caveatsIntro: string;
  caveat: string;
  addressesLeftHeading: string;
  addressesLeftIntro: string;
  leftOutRows: Forms;
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
