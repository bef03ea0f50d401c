/** The baseline of a scan over HTTP: in the body of a submission, and in the result. */
import { Type } from 'typebox';
import { BASELINE_PROBLEMS, BaselineChoice } from '../../core/scan/baseline.ts';
import { nullable, oneOf } from '../../core/schemas.ts';

/** In a submission. */
export const SubmittedBaseline = Type.Optional(
  Type.Object(BaselineChoice.properties, {
    additionalProperties: false,
    description:
      'The earlier scan that the scan is compared with, for `max_new_violations`: exactly one of `scan`, `metadata` and `schedule`. ' +
      'The newest scan that is done when the scan starts is used.',
  }),
);

const count = (description: string) =>
  nullable(Type.Integer({ minimum: 0, description: `${description} Null until the scans were compared.` }));

export const ScanBaseline = Type.Object(
  {
    scan_id: nullable(
      Type.String({
        format: 'uuid',
        description: 'The scan that this one is compared with. Null until it is chosen, and if no done scan matches.',
      }),
    ),
    problem: nullable(
      oneOf(BASELINE_PROBLEMS, {
        description:
          'Why the scan is not judged by its baseline: no done scan matches, its report is not stored any more, its report is too large or of another version, or the scans were made with other rules or checks.',
      }),
    ),
    new: count(
      'Violations on pages that the baseline tested too, or of root causes that it does not have anywhere. `max_new_violations` judges them.',
    ),
    new_known: count('How many of the new ones are known issues. `max_new_violations` does not count them.'),
    on_new_pages: count('Violations of root causes that the baseline has too, on pages that it did not test. They are not new.'),
    fixed: count('Violations that only the baseline has, on pages that both scans tested.'),
    unchanged: count('Violations that both scans have.'),
    not_tested: count('Violations of the baseline on pages that this scan did not test: it is unknown whether they are fixed.'),
    difference_url: Type.String({ description: 'The page of the dashboard that shows the difference, relative to the base address.' }),
  },
  { description: 'The comparison with the baseline. The JSON export lists the root causes. Null without a baseline.' },
);
