/** The form of e-mail addresses of users. */

/** As HTML's `type="email"`, with a domain of at least two labels. */
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$/;
const MAX_CHARACTERS = 254;

export function isEmailAddress(text: string): boolean {
  return text.length <= MAX_CHARACTERS && EMAIL.test(text);
}
