/** The form that accepts a root cause of a scan as a known issue, and the fields that it shares with the one that changes an issue. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import { KNOWN_ISSUE_MAX_DAYS, KNOWN_ISSUE_TEXT_MAX } from '../../../core/scan/known-issues.ts';
import type { Impact } from '../../../core/scan/impacts.ts';
import {
  actions,
  button,
  choices,
  definitions,
  type FormError,
  hiddenField,
  linkButton,
  severityBadge,
  textArea,
  textField,
} from '../../web/components.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField, errorOf, formErrors, titledPage } from '../forms.ts';
import { count, ELEMENTS, pagesText, shown } from '../scans/words.ts';
import { readDateTime } from '../../../core/date-time.ts';
import { ApiError, messageOf, statusOf, ValidationFailure } from '../../http/errors.ts';
import type { Form } from '../../web/html-scope.ts';

/** The root cause that the form is about. */
export interface AcceptedCause {
  scanId: string;
  site: string;
  fingerprint: string;
  rule: string;
  /** What the page of the scan says about it. */
  shown: { title: string; element: string | undefined; impact: Impact; elements: number; pages: number };
}

export const ABOUT = ['cause', 'selector'] as const;

export interface TypedIssue extends TypedFields {
  about: (typeof ABOUT)[number];
  selector: string;
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
  const { scanId, site, fingerprint, rule } = cause;
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
      ${textArea({
        name: 'selector',
        label: 'Selector',
        hint: 'Used only for the second choice. Those of frames and shadow hosts precede it, separated by " >>> ".',
        value: typed.selector,
        rows: 2,
        attributes: { spellcheck: 'false', autocapitalize: 'off', maxlength: KNOWN_ISSUE_TEXT_MAX.selector },
        error: errorOf(errors, 'selector'),
      })}
      ${commonFields(typed, errors)}
      ${actions(button({ text: 'Accept as known', kind: 'primary' }), linkButton({ text: 'Cancel', href: scanPath(scanId), kind: 'quiet' }))}
    </form>`;
  const trail = [
    { text: 'Scans', href: SCANS_PATH },
    { text: `Scan of ${shown(site)}`, href: scanPath(scanId) },
  ];
  return titledPage({ request, title: 'Accept a known issue', active: 'scans', trail, errors, narrow: true, body });
}

function summary({ site, rule, shown: cause }: AcceptedCause): Html {
  return definitions([
    ['Root cause', html`${shown(cause.title)}${cause.element !== undefined && html` <code>${shown(cause.element)}</code>`}`],
    ['Severity', severityBadge(cause.impact)],
    ['Found', `${count(ELEMENTS, cause.elements)} on ${pagesText(cause.pages)}`],
    ['Rule', html`<code>${shown(rule, 100)}</code>`],
    ['Site', shown(site)],
  ]);
}

export interface TypedFields {
  reason: string;
  owner: string;
  /** A date, such as 2030-01-31. */
  expires: string;
}

/** The date of an end, as its field has it. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

export const typedFields = (form: Form): TypedFields => ({
  reason: form.text('reason'),
  owner: form.text('owner'),
  expires: form.text('expires_at'),
});

/** The fields of a request. What is no date is sent as it is, so that it is refused. */
export const wantedFields = ({ reason, owner, expires }: TypedFields) => {
  const at = `${expires}T00:00:00Z`;
  return { reason, owner, expires_at: readDateTime(at) === null ? expires : at };
};

export function commonFields({ reason, owner, expires }: TypedFields, errors: readonly FormError[]): Html {
  return html`${textArea({
    name: 'reason',
    label: FIELDS.reason.label,
    hint: 'Why it is accepted, and what will fix it. Every report shows it.',
    value: reason,
    rows: 3,
    required: true,
    attributes: { maxlength: KNOWN_ISSUE_TEXT_MAX.reason },
    error: errorOf(errors, 'reason'),
  })}
  ${textField({
    name: 'owner',
    label: FIELDS.owner.label,
    hint: 'Who sees to it that it is fixed: a person or a team.',
    value: owner,
    required: true,
    maxlength: KNOWN_ISSUE_TEXT_MAX.owner,
    autocomplete: 'off',
    error: errorOf(errors, 'owner'),
  })}
  ${textField({
    name: 'expires_at',
    label: FIELDS.expires_at.label,
    hint: `It counts as a violation again from 00:00 UTC on this day, at most ${KNOWN_ISSUE_MAX_DAYS} days from now.`,
    type: 'date',
    width: 'medium',
    value: expires,
    required: true,
    error: errorOf(errors, 'expires_at'),
  })}`;
}

const FIELDS = {
  selector: { label: 'Selector', enter: 'Enter the selector of the elements.' },
  reason: { label: 'Reason', enter: 'Enter the reason.' },
  owner: { label: 'Owner', enter: 'Enter a person or a team.' },
  expires_at: { label: 'End', enter: 'Enter a date, such as 2030-01-31.' },
};

/** The errors of a refused form, each at its field, and its status. @throws what is no refusal of the form */
export function refusalOf(error: unknown): { errors: FormError[]; status: number } {
  if (error instanceof ValidationFailure) return { errors: formErrors(error.items, FIELDS), status: statusOf(error) };
  if (error instanceof ApiError && statusOf(error) === 409)
    return { errors: [{ field: null, text: messageOf(error) }], status: statusOf(error) };
  throw error;
}
