/** The form that accepts a root cause of a scan as a known issue, and the fields that it shares with the one that changes an issue. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import { KNOWN_ISSUE_MAX_DAYS } from '../../../core/scan/known-issues.ts';
import type { CauseLine } from '../../../report/view/schema.ts';
import { actions, button, choices, definitions, type FormError, hiddenField, linkButton, severityBadge } from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { NewKnownIssue } from '../../accounts/known-issues.ts';
import { schemaForm, type Typed } from '../schema-form.ts';
import { csrfField, errorOf, titledPage } from '../forms.ts';
import { count, ELEMENTS, pagesText, shown } from '../scans/words.ts';

/** The root cause that the form is about. */
export interface AcceptedCause {
  scanId: string;
  site: string;
  title: string;
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
  const { scanId, site, line } = cause;
  const { fingerprint, rule } = line;
  const body = html`<p class="lead">Reports keep showing a known issue, marked with reason and end. Thresholds do not count it.</p>
    ${summary(cause)}
    <form method="post" action="${KNOWN_ISSUES_PATH}/new" novalidate>
      ${csrfField(request)} ${hiddenField('form_id', typed.formId)} ${hiddenField('scan', scanId)} ${hiddenField('site', site)}
      ${hiddenField('cause', fingerprint)} ${hiddenField('rule', rule)}
      ${choices({
        name: 'about',
        label: 'What is accepted',
        type: 'radio',
        required: true,
        values: [typed.about],
        choices: [
          { value: 'cause', text: 'This root cause', hint: 'All of its elements, on every page, and new elements of the same cause.' },
          {
            value: 'selector',
            text: 'Only elements at a selector',
            hint: html`Elements of the rule ${shown(rule, 100)} with exactly this selector, on every page.`,
          },
        ],
        error: errorOf(errors, 'about'),
      })}
      ${ISSUE_FORM.controls(typed.fields, errors)}
      ${actions(button({ text: 'Accept as known', kind: 'primary' }), linkButton({ text: 'Cancel', href: scanPath(scanId), kind: 'quiet' }))}
    </form>`;
  const trail = [
    { text: 'Scans', href: SCANS_PATH },
    { text: `Scan of ${shown(site)}`, href: scanPath(scanId) },
  ];
  return titledPage({ request, title: 'Accept a known issue', active: 'scans', trail, errors, narrow: true, body });
}

function summary({ site, title, line }: AcceptedCause): Html {
  return definitions([
    ['Root cause', html`${shown(title)} <code>${shown(line.element)}</code>`],
    ['Severity', severityBadge(line.impact)],
    ['Found', `${count(ELEMENTS, line.elements)} on ${pagesText(line.pages)}`],
    ['Rule', html`<code>${shown(line.rule, 100)}</code>`],
    ['Site', shown(site)],
  ]);
}

/** The date of an end, as its field has it. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

export const ISSUE_FORM = schemaForm(NewKnownIssue, {
  selector: {
    label: 'Selector',
    hint: 'Used only for the second choice. Those of frames and shadow hosts precede it, separated by " >>> ".',
    enter: 'Enter the selector of the elements.',
    rows: 2,
    code: true,
  },
  reason: {
    label: 'Reason',
    hint: 'Why it is accepted, and what will fix it. Every report shows it.',
    enter: 'Enter the reason.',
    rows: 3,
  },
  owner: { label: 'Owner', hint: 'Who sees to it that it is fixed: a person or a team.', enter: 'Enter a person or a team.' },
  expires_at: {
    label: 'End',
    hint: `It counts as a violation again from 00:00 UTC on this day, at most ${KNOWN_ISSUE_MAX_DAYS} days from now.`,
    enter: 'Enter a date, such as 2030-01-31.',
  },
});

/** The fields that an issue keeps. Its target cannot be changed. */
export const CHANGED_FIELDS = ['reason', 'owner', 'expires_at'];
