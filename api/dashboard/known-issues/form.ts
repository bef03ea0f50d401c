/** The form that accepts a root cause of a scan, or decides about one that needs review, and the fields that change a known issue. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import { KNOWN_ISSUE_MAX_DAYS } from '../../../core/scan/known-issues.ts';
import type { CauseLine } from '../../../report/view/schema.ts';
import { actions, button, choices, definitions, type FormError, hiddenField, linkButton, severityBadge } from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { NewKnownIssue } from '../../accounts/known-issues.ts';
import type { CauseList } from '../findings/select.ts';
import { schemaForm, type Typed } from '../schema-form.ts';
import { csrfField, errorOf, titledPage } from '../forms.ts';
import { shown } from '../scans/words.ts';
import { extentOf } from '../../../report/html/cause.ts';
import { m, t } from '../../web/texts.ts';

/** The root cause that the form is about. */
export interface AcceptedCause {
  scanId: string;
  site: string;
  title: string;
  /** In `review`, a person decides about it. */
  list: CauseList;
  line: CauseLine;
}

export const ABOUT = ['cause', 'selector'] as const;

export interface TypedIssue {
  about: (typeof ABOUT)[number];
  fields: Typed;
  /** Identifies this form, so that sending it twice accepts one issue. */
  formId: string;
}

interface AcceptPage {
  request: FastifyRequest;
  cause: AcceptedCause;
  typed: TypedIssue;
  errors: readonly FormError[];
}

export function acceptPage({ request, cause, typed, errors }: AcceptPage): Html {
  const { scanId, site, list, line } = cause;
  const { fingerprint, rule } = line;
  const decides = list === 'review';
  const body = html`<p class="lead">${
    decides
      ? t`The test could not decide. Look at the elements, and say what they are: scans that start from now on keep it until its end.`
      : t`Reports keep showing a known issue, marked with reason and end. Thresholds do not count it.`
  }</p>
    ${summary(cause)}
    <form method="post" action="${KNOWN_ISSUES_PATH}/new" novalidate>
      ${csrfField(request)} ${hiddenField('form_id', typed.formId)} ${hiddenField('scan', scanId)} ${hiddenField('site', site)}
      ${hiddenField('cause', fingerprint)} ${hiddenField('rule', rule)} ${hiddenField('list', list)}
      ${decides && ISSUE_FORM.controls(typed.fields, errors, ['kind'])}
      ${choices({
        name: 'about',
        label: decides ? t`What it is about` : t`What is accepted`,
        type: 'radio',
        required: true,
        values: [typed.about],
        choices: [
          { value: 'cause', text: t`This root cause`, hint: t`All of its elements, on every page, and new elements of the same cause.` },
          {
            value: 'selector',
            text: t`Only elements at a selector`,
            hint: t`Elements of the rule ${shown(rule, 100)} with exactly this selector, on every page.`,
          },
        ],
        error: errorOf(errors, 'about'),
      })}
      ${ISSUE_FORM.controls(typed.fields, errors, ['selector', ...CHANGED_FIELDS])}
      ${actions(button({ text: decides ? t`Save the decision` : t`Accept as known`, kind: 'primary' }), linkButton({ text: t`Cancel`, href: scanPath(scanId), kind: 'quiet' }))}
    </form>`;
  const trail = [
    { text: t`Scans`, href: SCANS_PATH },
    { text: t`Scan of ${shown(site)}`, href: scanPath(scanId) },
  ];
  return titledPage({
    request,
    title: decides ? t`Decide what needs review` : t`Accept a known issue`,
    active: 'scans',
    trail,
    errors,
    narrow: true,
    body,
  });
}

function summary({ site, title, line }: AcceptedCause): Html {
  return definitions([
    [t`Root cause`, html`${shown(title)} <code>${shown(line.element)}</code>`],
    [t`Severity`, severityBadge(line.impact)],
    [t`Found`, extentOf(line)],
    [t`Rule`, html`<code>${shown(line.rule, 100)}</code>`],
    [t`Site`, shown(site)],
  ]);
}

/** The date of an end, as its field has it. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

export const ISSUE_FORM = schemaForm(NewKnownIssue, {
  kind: {
    label: m`Your decision`,
    texts: { enum: m`Choose what the elements are.` },
    choices: [
      { value: 'fine', text: m`They are fine`, hint: m`They no longer need review, for the reason below.` },
      { value: 'fault', text: m`They are a fault`, hint: m`They count as violations: in score, thresholds and comparisons.` },
    ],
  },
  selector: {
    label: m`Selector`,
    hint: m`Used only for the second choice. Those of frames and shadow hosts precede it, separated by " >>> ".`,
    enter: m`Enter the selector of the elements.`,
    rows: 2,
    code: true,
  },
  reason: {
    label: m`Reason`,
    hint: m`Why it is so, and what will fix it. Every report shows it.`,
    enter: m`Enter the reason.`,
    rows: 3,
  },
  owner: { label: m`Issue owner`, hint: m`Who sees to it: a person or a team.`, enter: m`Enter a person or a team.` },
  expires_at: {
    label: m`End`,
    hint: () => t`From 00:00 UTC on this day it counts as if it had never been set. At most ${KNOWN_ISSUE_MAX_DAYS} days from now.`,
    enter: m`Enter a date, such as 2030-01-31.`,
  },
});

/** The fields that an issue keeps. Its target cannot be changed. */
export const CHANGED_FIELDS = ['reason', 'owner', 'expires_at'];
