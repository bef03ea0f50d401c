/** The known issues of a scan in its result over HTTP. */
import { Type } from 'typebox';
import { nullable } from '../../core/schemas.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** What thresholds judge, beside the numbers that include known issues. */
export const OPEN_FIELDS = {
  score_without_known: nullable(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'The score without known issues, which `min_score` judges. Null without a result.',
    }),
  ),
  violations_new_or_open: nullable(
    count('The violations that are not known issues, which the other thresholds judge. Null without a result.'),
  ),
};

export const KNOWN_FIELDS = {
  ...OPEN_FIELDS,
  known_issues: nullable(
    Type.Object(
      {
        matched: count('Known issues that matched a violation.'),
        unmatched: count('Known issues that matched none, and may be out of date.'),
        ending: count('Known issues that end within 30 days of the scan.'),
      },
      {
        description: 'The numbers of known issues of the site. The JSON export lists them. Null without a result, and if there are none.',
      },
    ),
  ),
};
