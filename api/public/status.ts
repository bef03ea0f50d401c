/** The status of a public scan, by its token. */
import { Type, type Static } from 'typebox';
import { PHASES } from '../../core/scan/phases.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { reference } from '../http/responses.ts';
import { growing, nullable } from '../../core/schemas.ts';
import type { ReportView } from '../../report/view/view.ts';
import type { PublicScan } from '../../stores/scans/public-scans.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';

/** The issues of a status without `full`. */
const ISSUES_SHOWN = 10;

export const PublicIssue = Type.Object(
  {
    rule: Type.String({ description: "The rule's ID in axe-core." }),
    impact: growing(IMPACTS),
    help: Type.String({ description: 'What is wrong, in the language of the request.' }),
    help_url: Type.String({ description: 'A page about the rule.' }),
    wcag: Type.Array(Type.String(), { description: 'Success criteria, such as 1.1.1.' }),
    selector: Type.String({ description: 'The element, as a CSS selector.' }),
    html: Type.String({ description: "The element's own HTML. It comes from the page: never show it as HTML." }),
  },
  { $id: 'PublicIssue' },
);

export const PublicScanStatus = Type.Object(
  {
    token: Type.String(),
    status: growing(PHASES, { description: 'Treat an unknown status as not terminal.' }),
    url: Type.String(),
    violation_count: nullable(Type.Integer({ minimum: 0, description: 'Failing elements. Null until the scan is done.' })),
    issues: Type.Array(reference(PublicIssue), { description: 'Failing elements, worst first. Empty until the scan is done.' }),
    truncated: Type.Boolean({ description: 'Whether there are more issues than listed.' }),
  },
  { $id: 'PublicScanStatus' },
);
export type PublicScanStatus = Static<typeof PublicScanStatus>;

/** @param view null if the scan is not done, or its report was removed */
export function statusOf({ token, url }: PublicScan, row: ScanRow, view: ReportView | null, full: boolean): PublicScanStatus {
  const total = row.outcome?.violations.total ?? null;
  const issues = (view?.issues ?? []).slice(0, full ? undefined : ISSUES_SHOWN);
  return {
    token,
    status: row.phase,
    url,
    violation_count: total,
    issues: issues.map(({ rule, impact, help, help_url, wcag, selector, html }) => ({
      rule,
      impact,
      help,
      help_url,
      wcag,
      selector,
      html,
    })),
    truncated: issues.length < (total ?? 0),
  };
}
