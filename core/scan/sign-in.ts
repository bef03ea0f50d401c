/**
 * The sign-in of a scan (`spec.auth`): one schema for the custom resources, the pod's input and docs/reference.md. It names
 * keys of a Secret and never contains their values.
 */
import { type Static, Type } from 'typebox';
import { selector, stepOf } from './steps.ts';

/** Keys of Kubernetes Secrets, which are file names in the pod and must not begin with two dots. */
const SECRET_KEY = '^\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$';
const ORIGIN = '^[hH][tT][tT][pP][sS]?://[^/?#@\\s]+$';
const HEADER_NAME = "^[-!#$%&'*+.^_`|~0-9A-Za-z]+$";

/** The keys of a Secret that are used without `headers`, `cookies`, `basic` and `steps`. */
export const WELL_KNOWN_KEYS = ['username', 'password', 'cookie'] as const;
/** The key of a Secret that lists the origins to which its values may be sent. */
export const ORIGINS_KEY = 'origins';

const secretKey = (description: string) => Type.String({ minLength: 1, maxLength: 253, pattern: SECRET_KEY, description });
const origin = Type.Optional(
  Type.String({
    maxLength: 512,
    pattern: ORIGIN,
    description: 'The origin to which it is sent, such as https://shop.example.com. Default: the origin of the URL of the scan.',
  }),
);

const SignInHeader = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256, pattern: HEADER_NAME, description: 'The name of the header, such as Authorization.' }),
  secretKey: secretKey("The Secret's key with the value."),
  prefix: Type.Optional(Type.String({ maxLength: 64, description: 'Text before the value, such as "Bearer ".' })),
  origin,
});
export type SignInHeader = Static<typeof SignInHeader>;

const SignInCookie = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\s;=,]+$', description: 'The name of the cookie.' }),
  secretKey: secretKey("The Secret's key with the value."),
  origin,
});

const BasicKeys = Type.Object(
  {
    usernameKey: Type.String({
      default: 'username',
      minLength: 1,
      maxLength: 253,
      pattern: SECRET_KEY,
      description: "The Secret's key with the user name.",
    }),
    passwordKey: Type.String({
      default: 'password',
      minLength: 1,
      maxLength: 253,
      pattern: SECRET_KEY,
      description: "The Secret's key with the password.",
    }),
    origin,
  },
  { description: 'HTTP basic authentication for one origin.' },
);

/** What a page shows only if it is signed in. */
export const Marker = Type.Object(
  {
    selector: Type.Optional(selector('A CSS selector of a visible element.')),
    text: Type.Optional(
      Type.String({ minLength: 1, maxLength: 512, description: 'A visible text, in upper and lower case as it is shown.' }),
    ),
  },
  { description: 'What every page shows if it is signed in, and only then. Set selector or text. Strongly recommended with steps.' },
);
export type Marker = Static<typeof Marker>;

export const SignInStep = stepOf(
  Type.Object(
    { selector: selector('A CSS selector of the field.'), secretKey: secretKey("The Secret's key with the value.") },
    { description: 'Type the value of a key of the Secret into a field.' },
  ),
);
export type SignInStep = Static<typeof SignInStep>;

/** The parts of a sign-in that the operator passes to the pod: names of keys, without values. */
export const SignInPlan = Type.Object({
  headers: Type.Optional(
    Type.Array(SignInHeader, { maxItems: 20, description: 'Headers that are sent with every request to their origin, and to no other.' }),
  ),
  cookies: Type.Optional(Type.Array(SignInCookie, { maxItems: 20, description: 'Cookies that every page starts with.' })),
  basic: Type.Optional(BasicKeys),
  steps: Type.Optional(
    Type.Array(SignInStep, {
      minItems: 1,
      maxItems: 30,
      description:
        'Steps in the browser that sign in, each with one of goto, fill, click, waitFor and assert. They run once for the scan, and again if the site ends the session; each page starts with the cookies and the storage that they lead to.',
    }),
  ),
  marker: Type.Optional(Marker),
});
export type SignInPlan = Static<typeof SignInPlan>;

/** `spec.auth` of an AccessibilityScan. */
export const SignInSpec = Type.Object(
  {
    secretRef: Type.Object(
      { name: Type.String({ minLength: 1, maxLength: 253, description: 'The name of the Secret.' }) },
      {
        description: `Reference to a Secret in the same namespace. The scanner's pod mounts the Secret; the operator never reads it. Without headers, cookies, basic and steps its keys are username and password (HTTP basic authentication), or cookie (the value of the Cookie header). Other keys can be used only if the Secret has a key ${ORIGINS_KEY}: the origins to which its values may be sent, separated by white space. Without it, anyone who can create scans in this namespace can send username, password and cookie to a site of their choice.`,
      },
    ),
    ...SignInPlan.properties,
  },
  { description: 'The sign-in to the site. Without it, the scan does not sign in.' },
);
export type SignInSpec = Static<typeof SignInSpec>;

/** Returns what the pod needs of `spec.auth`. */
export function planOf({ secretRef: _, ...plan }: SignInSpec): SignInPlan {
  return plan;
}

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

/**
 * One item of `ALLOW_SCAN_SECRETS`, which lists the Secrets that scans over HTTP may sign in with. It is a name, or the beginning of
 * names with `*`, for all organisations or for the one before the slash. Manifests name any Secret of their namespace.
 */
const RULE = /^(?:(?<organisation>[a-z0-9-]+)\/)?(?<name>[a-z0-9][-a-z0-9.]*)(?<rest>\*)?$/;

/** Whether an item has the form of a rule. `*` alone has not: it would allow the Secrets of other scans. */
export const isSecretRule = (item: string): boolean => RULE.test(item);

/** Whether scans of an organisation may sign in with any Secret. @param rules as of `maySignInWith` */
export const mayUseSecrets = (organisation: string, rules: readonly string[]): boolean =>
  rules.some((rule) => [undefined, organisation].includes(RULE.exec(rule)!.groups!.organisation));

/** Whether a scan of an organisation may sign in with a Secret. @param rules items for which `isSecretRule` is true */
export function maySignInWith(secret: string, organisation: string, rules: readonly string[]): boolean {
  return rules.some((rule) => {
    const { organisation: only, name, rest } = RULE.exec(rule)!.groups!;
    if (only !== undefined && only !== organisation) return false;
    return rest === undefined ? secret === name : secret.startsWith(name!);
  });
}
