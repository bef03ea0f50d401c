/** The Secrets that scans over HTTP may sign in with (`ALLOW_SCAN_SECRETS`). Manifests name any Secret of their namespace. */
import { Type, type Static } from 'typebox';

/** The sign-in of a submission. The Secret is one of the namespace of the API's scans. */
export const SubmittedAuth = Type.Object(
  {
    secret: Type.String({
      maxLength: 253,
      pattern: '^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$',
      description:
        "The name of a Secret in the namespace of the API's scans, with the keys `username` and `password`, or `cookie`. The operator of the service lists the Secrets that may be named.",
    }),
  },
  { additionalProperties: false, description: 'The sign-in to the site. Without it, the scan does not sign in.' },
);
export type SubmittedAuth = Static<typeof SubmittedAuth>;

/** One item of the list: a name, or the beginning of names with `*`, for all organisations or for the one before the slash. */
const RULE = /^(?:(?<organisation>[a-z0-9-]+)\/)?(?<name>[a-z0-9][-a-z0-9.]*)(?<rest>\*)?$/;

/** Whether an item has the form of a rule. `*` alone has not: it would allow the Secrets of other scans. */
export const isSecretRule = (item: string): boolean => RULE.test(item);

/** Whether a scan of an organisation may sign in with a Secret. @param rules items for which `isSecretRule` is true */
export function maySignInWith(secret: string, organisation: string, rules: readonly string[]): boolean {
  return rules.some((rule) => {
    const { organisation: only, name, rest } = RULE.exec(rule)!.groups!;
    if (only !== undefined && only !== organisation) return false;
    return rest === undefined ? secret === name : secret.startsWith(name!);
  });
}
