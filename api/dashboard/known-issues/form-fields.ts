/** What the forms about known issues share: the fields, and the errors in the words of the fields. */
import { readDateTime } from '../../../core/date-time.ts';
import { KNOWN_ISSUE_TEXT_MAX, KNOWN_ISSUE_MAX_DAYS } from '../../../core/scan/known-issues.ts';
import { ApiError, messageOf, statusOf, ValidationFailure } from '../../http/errors.ts';
import { textArea, textField, type FormError } from '../../web/components/index.ts';
import type { Form } from '../../web/html-scope.ts';
import { html, type Html } from '../../web/html.ts';
import { errorOf, formErrors } from '../forms.ts';

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
