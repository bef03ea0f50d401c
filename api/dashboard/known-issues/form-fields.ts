/** What the forms about known issues share: the fields, and the errors in the words of the fields. */
import { validationTextForPeople } from '../../../core/validation-texts.ts';
import { readDateTime } from '../../../core/date-time.ts';
import { KNOWN_ISSUE_TEXT_MAX, KNOWN_ISSUE_MAX_DAYS } from '../../../core/scan/known-issues.ts';
import { ApiError, messageOf, statusOf, ValidationFailure, type ValidationItem } from '../../http/errors.ts';
import { textArea, textField, type FormError } from '../../web/components/index.ts';
import type { Form } from '../../web/html-scope.ts';
import { html, type Html } from '../../web/html.ts';
import { errorOf } from '../forms.ts';

/** What was typed. */
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
    label: LABELS.reason,
    hint: 'Why it is accepted, and what will fix it. Every report shows it.',
    value: reason,
    rows: 3,
    required: true,
    attributes: { maxlength: KNOWN_ISSUE_TEXT_MAX.reason },
    error: errorOf(errors, 'reason'),
  })}
  ${textField({
    name: 'owner',
    label: LABELS.owner,
    hint: 'Who sees to it that it is fixed: a person or a team.',
    value: owner,
    required: true,
    maxlength: KNOWN_ISSUE_TEXT_MAX.owner,
    autocomplete: 'off',
    error: errorOf(errors, 'owner'),
  })}
  ${textField({
    name: 'expires_at',
    label: LABELS.expires_at,
    hint: `It counts as a violation again from 00:00 UTC on this day, at most ${KNOWN_ISSUE_MAX_DAYS} days from now.`,
    type: 'date',
    width: 'medium',
    value: expires,
    required: true,
    error: errorOf(errors, 'expires_at'),
  })}`;
}

const LABELS: Readonly<Record<string, string>> = { selector: 'Selector', reason: 'Reason', owner: 'Owner', expires_at: 'End' };
const MISSING: Readonly<Record<string, string>> = {
  selector: 'Enter the selector of the elements.',
  reason: 'Enter the reason.',
  owner: 'Enter a person or a team.',
  expires_at: 'Enter a date, such as 2030-01-31.',
};
const IS_MISSING: ReadonlySet<ValidationItem['type']> = new Set([
  'missing_field',
  'string.min_length',
  'string.pattern',
  'string.date_time',
]);

/** The errors of a refused form, each at its field, and its status. @throws what is no refusal of the form */
export function refusalOf(error: unknown): { errors: FormError[]; status: number } {
  if (error instanceof ValidationFailure) return { errors: errorsOf(error.items), status: statusOf(error) };
  if (error instanceof ApiError && statusOf(error) === 409)
    return { errors: [{ field: null, text: messageOf(error) }], status: statusOf(error) };
  throw error;
}

function errorsOf(items: readonly ValidationItem[]): FormError[] {
  return items.map((item) => {
    const { loc, msg, type } = item;
    const field = String(loc[1]);
    const label = LABELS[field];
    if (label === undefined) return { field: null, text: msg };
    if (IS_MISSING.has(type)) return { field, text: MISSING[field]! };
    return { field, text: validationTextForPeople(label, item) ?? msg };
  });
}
