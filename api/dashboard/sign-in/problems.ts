/** Why a sign-in at the identity provider failed. The sign-in page shows the text. */
export const SIGN_IN_PROBLEMS = {
  provider_down: 'The identity provider cannot be used at the moment. Try again in a few minutes.',
  expired: 'The sign-in took too long, or it was completed before. Sign in again.',
  refused: 'The identity provider refused the sign-in, or its answer was not valid. Sign in again.',
  unverified_email: 'The identity provider has not verified your e-mail address. Ask its administrator to do so.',
  unknown_user: 'There is no account for your e-mail address. Ask an owner of your organisation to invite you.',
  other_identity: 'Your e-mail address belongs to another account at the identity provider. Ask an owner of your organisation.',
  too_many: 'There were too many attempts. Try again in a few minutes.',
} as const;
export type SignInProblem = keyof typeof SIGN_IN_PROBLEMS;

/** The text of a problem in an address; null if there is no such problem. */
export function problemText(problem: unknown): string | null {
  return typeof problem === 'string' && Object.hasOwn(SIGN_IN_PROBLEMS, problem) ? SIGN_IN_PROBLEMS[problem as SignInProblem] : null;
}
