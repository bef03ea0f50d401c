/** Fields and checks of forms that set a new password. */
import { PASSWORD_MIN_CHARACTERS, PASSWORD_PROBLEMS, passwordProblem } from '../../core/passwords.ts';
import type { FormError } from '../web/components/index.ts';
import type { Html } from '../web/html.ts';
import { errorOf } from './forms.ts';
import { passwordField } from './sign-in/page.ts';

/** The name of the field. */
export const NEW_PASSWORD = 'new-password';

/** The field for a new password, with its rules. */
export function newPasswordField(errors: readonly FormError[]): Html {
  return passwordField({
    name: NEW_PASSWORD,
    label: 'New password',
    autocomplete: 'new-password',
    hint: `At least ${PASSWORD_MIN_CHARACTERS} characters of any kind. Several words that do not belong together are easy to remember.`,
    error: errorOf(errors, NEW_PASSWORD),
  });
}

/** The error of a new password. @param known values that others expect, such as the address and the organisation's name */
export function newPasswordErrors(password: string, known: readonly string[]): FormError[] {
  if (password === '') return [{ field: NEW_PASSWORD, text: 'Enter a new password.' }];
  const problem = passwordProblem(password, { known });
  return problem === null ? [] : [{ field: NEW_PASSWORD, text: PASSWORD_PROBLEMS[problem] }];
}
