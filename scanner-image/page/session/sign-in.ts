/** The credentials of a scan: the values of the keys of its mounted Secret, and the origins to which they may be sent. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ORIGINS_KEY, WELL_KNOWN_KEYS, type Marker, type SignInPlan, type SignInStep } from '../../../core/scan/sign-in.ts';
import { describeStep, kindOfStep, type Step } from '../../../core/scan/steps.ts';

/** A header or a cookie for one origin. */
export interface OriginValue {
  origin: string;
  name: string;
  value: string;
}

/** A step with the value that it types. */
export interface ReadyStep {
  step: Step;
  /** What the step does, without the value. */
  description: string;
  /** Only for `fill`. */
  value?: string;
}

export interface SignIn {
  basic?: { origin: string; username: string; password: string };
  headers: OriginValue[];
  cookies: OriginValue[];
  steps: ReadyStep[];
  marker: Marker | null;
  /** The origins of pages in which steps may type values. */
  origins: string[];
  /** The values that no report, log or message may contain. */
  secrets: string[];
}

export type ReadSignIn = { ok: true; signIn: SignIn } | { ok: false; reason: string };

/** The largest value of a key, in bytes. */
const VALUE_MAX_BYTES = 64 * 1024;

/**
 * Reads the sign-in of a scan from the mounted Secret.
 * @param folder one file per key of the Secret
 * @param plan absent if the scan does not state one; then a missing folder means that the scan does not sign in
 * @returns null if the scan does not sign in, or the reason why the Secret does not fit the plan
 */
export async function readSignIn(folder: string, plan: SignInPlan | undefined, start: URL): Promise<ReadSignIn | null> {
  const keys = [...new Set([...WELL_KNOWN_KEYS, ORIGINS_KEY, ...keysOf(plan ?? {})])];
  const texts = await Promise.all(keys.map((key) => readText(join(folder, key))));
  const values = new Map(keys.flatMap((key, index) => (texts[index] == null ? [] : [[key, texts[index]] as const])));
  if (plan === undefined && values.size === 0) return null;
  return resolveSignIn(plan ?? {}, values, start);
}

async function readText(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** The keys that a plan names. */
function keysOf({ headers = [], cookies = [], basic, steps = [] }: SignInPlan): string[] {
  return [
    ...[...headers, ...cookies].map(({ secretKey }) => secretKey),
    ...(basic === undefined ? [] : [basic.usernameKey, basic.passwordKey]),
    ...steps.flatMap(({ fill }) => (fill === undefined ? [] : [fill.secretKey])),
  ];
}

/**
 * Connects a plan with the values of a Secret. Pure.
 * @returns the reason, which contains names of keys and no values, if a key is missing or may not be sent to an origin
 */
export function resolveSignIn(plan: SignInPlan, values: ReadonlyMap<string, string>, start: URL): ReadSignIn {
  const isTyped = (plan.headers ?? plan.cookies ?? plan.basic ?? plan.steps) !== undefined;
  const keys = isTyped ? keysOf(plan) : WELL_KNOWN_KEYS.filter((key) => values.has(key));
  const mistake =
    keyMistake(keys, values) ??
    (isTyped ? null : wellKnownMistake(values)) ??
    stepMistake(plan.steps ?? [], start) ??
    originsMistake(plan, values);
  if (mistake !== null) return { ok: false, reason: mistake };
  const signIn = isTyped ? typedSignIn(plan, values, start) : wellKnownSignIn(values, start);
  const unsendable = originMistake(signIn, values) ?? sendMistake(signIn);
  if (unsendable !== null) return { ok: false, reason: unsendable };
  return { ok: true, signIn: { ...signIn, marker: plan.marker ?? null } };
}

/** The sign-in of a scan that does not sign in. */
export const NO_SIGN_IN: SignIn = { headers: [], cookies: [], steps: [], marker: null, origins: [], secrets: [] };

function typedSignIn(plan: SignInPlan, values: ReadonlyMap<string, string>, start: URL): SignIn {
  const { headers = [], cookies = [], basic, steps = [] } = plan;
  const valueOf = (key: string): string => values.get(key) ?? '';
  const originOf = (given: string | undefined): string => (given === undefined ? start.origin : new URL(given).origin);
  return {
    ...NO_SIGN_IN,
    ...(basic && {
      basic: { origin: originOf(basic.origin), username: valueOf(basic.usernameKey), password: valueOf(basic.passwordKey) },
    }),
    headers: headers.map(({ name, prefix = '', secretKey, origin }) => ({
      origin: originOf(origin),
      name,
      value: prefix + valueOf(secretKey),
    })),
    cookies: cookies.map(({ name, secretKey, origin }) => ({ origin: originOf(origin), name, value: valueOf(secretKey) })),
    steps: steps.map((step) => ({ step, description: describeStep(step), ...(step.fill && { value: valueOf(step.fill.secretKey) }) })),
    origins: typingOrigins(steps, values, start),
    secrets: [...keysOf(plan).map(valueOf), ...(basic ? [`${valueOf(basic.usernameKey)}:${valueOf(basic.passwordKey)}`] : [])],
  };
}

function wellKnownSignIn(values: ReadonlyMap<string, string>, start: URL): SignIn {
  const [username, password, cookie] = WELL_KNOWN_KEYS.map((key) => values.get(key));
  const hasBasic = username !== undefined && password !== undefined;
  const cookies = cookiesOf(cookie ?? '');
  const tokens = cookies.map(({ value }) => value).filter((value) => value.length >= COOKIE_SECRET_MIN_LENGTH);
  return {
    ...NO_SIGN_IN,
    ...(hasBasic && { basic: { origin: start.origin, username, password } }),
    cookies: cookies.map((cookie) => ({ origin: start.origin, ...cookie })),
    secrets: [...[username, password, cookie].flatMap((value) => value ?? []), ...tokens, ...(hasBasic ? [`${username}:${password}`] : [])],
  };
}

/** The value of one cookie of a Cookie header is secret from this length on: shorter ones are settings, such as `theme=dark`. */
const COOKIE_SECRET_MIN_LENGTH = 8;

function keyMistake(keys: readonly string[], values: ReadonlyMap<string, string>): string | null {
  for (const key of keys) {
    const value = values.get(key);
    if (value === undefined) return `The Secret of the sign-in has no key ${key}. Add it, or change auth.`;
    if (value === '') return `The key ${key} in the Secret of the sign-in is empty.`;
    if (Buffer.byteLength(value) > VALUE_MAX_BYTES)
      return `The key ${key} in the Secret of the sign-in is larger than ${VALUE_MAX_BYTES} bytes.`;
    if (/[\r\n\0]/.test(value)) return `The key ${key} in the Secret of the sign-in has more than one line.`;
    if (!values.has(ORIGINS_KEY) && !(WELL_KNOWN_KEYS as readonly string[]).includes(key))
      return `The Secret of the sign-in has no key ${ORIGINS_KEY}. To use its key ${key}, list there the origins to which its values may be sent.`;
  }
  return null;
}

/** Without named keys there must be a well-known one, and HTTP basic authentication needs both of its keys. */
function wellKnownMistake(values: ReadonlyMap<string, string>): string | null {
  if (!WELL_KNOWN_KEYS.some((key) => values.has(key)))
    return 'The Secret of the sign-in has none of the keys username, password and cookie, and auth names no others.';
  if (values.has('username') === values.has('password')) return null;
  const [present, missing] = values.has('username') ? ['username', 'password'] : ['password', 'username'];
  return `The Secret of the sign-in has a ${present} but no ${missing}. Set both, or neither.`;
}

function stepMistake(steps: readonly SignInStep[], start: URL): string | null {
  const [first] = steps;
  if (first !== undefined && kindOfStep(first) !== 'goto') return 'The first step of the sign-in must be goto.';
  for (const { goto } of steps) {
    if (goto === undefined) continue;
    if (!URL.canParse(goto, start.href)) return cannotGoTo(goto);
    const url = new URL(goto, start);
    if (!['http:', 'https:'].includes(url.protocol) || url.username !== '') return cannotGoTo(goto);
  }
  return null;
}

const cannotGoTo = (goto: string): string =>
  `The sign-in cannot go to ${goto}. Set goto to a path of the site or to an http or https URL without a user name.`;

/** The entries of the Secret's list of origins, or null if it has no such key. */
function listedEntries(values: ReadonlyMap<string, string>): string[] | null {
  return (
    values
      .get(ORIGINS_KEY)
      ?.split(/[\s,]+/)
      .filter(Boolean) ?? null
  );
}

/** The origins that the Secret lists, or null if it has no such key. */
const listedOrigins = (values: ReadonlyMap<string, string>): string[] | null =>
  listedEntries(values)?.map((entry) => new URL(entry).origin) ?? null;

/** Whether a text is the URL of an origin. A `*` would be read as a part of the host, which no request has. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ['http:', 'https:'].includes(url.protocol) && !url.hostname.includes('*');
}

/** Every origin must be one, because nothing would be sent to or typed at another. */
function originsMistake({ headers = [], cookies = [], basic }: SignInPlan, values: ReadonlyMap<string, string>): string | null {
  const wrong = [...headers, ...cookies, ...(basic ? [basic] : [])].find(({ origin }) => origin !== undefined && !isOrigin(origin));
  if (wrong !== undefined) return `The sign-in cannot send values to ${wrong.origin}. Set origin to one such as https://shop.example.com.`;
  const listed = listedEntries(values);
  const at = listed?.findIndex((entry) => !isOrigin(entry)) ?? -1;
  if (at < 0 && listed?.length !== 0) return null;
  const which = at < 0 ? 'lists no origin' : `has as entry ${at + 1} no origin`;
  return `The key ${ORIGINS_KEY} in the Secret of the sign-in ${which}. List origins such as https://shop.example.com, separated by white space.`;
}

/** Headers that the browser sets itself, and for which it rejects the whole request (`net::IsRequestHeaderSafe` of Chromium). */
const BROWSER_HEADERS =
  /^(?:content-length|host|trailer|te|upgrade|keep-alive|transfer-encoding|connection|set-cookie|cookie2?|(?:proxy|sec)-.*)$/i;
/** Characters that cannot be sent in headers (RFC 9110, 5.5). */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

function sendMistake({ headers, cookies }: SignIn): string | null {
  for (const { name, value } of headers) {
    if (/^cookie$/i.test(name)) return 'The sign-in cannot set the header Cookie. Use cookies instead.';
    if (BROWSER_HEADERS.test(name)) return `The sign-in cannot set the header ${name}, because the browser sets it.`;
    if (UNSENDABLE.test(value)) return `The value of the header ${name} of the sign-in has characters that no header can have.`;
  }
  const cookie = cookies.find(({ value }) => value.includes(';') || UNSENDABLE.test(value));
  return cookie === undefined ? null : `The value of the cookie ${cookie.name} of the sign-in has characters that no cookie can have.`;
}

/** The origins of pages in which steps may type: those of the Secret, otherwise those that the scan names. */
function typingOrigins(steps: readonly SignInStep[], values: ReadonlyMap<string, string>, start: URL): string[] {
  const named = steps.flatMap(({ goto }) => (goto === undefined ? [] : [new URL(goto, start).origin]));
  return listedOrigins(values) ?? [...new Set([start.origin, ...named])];
}

function originMistake({ basic, headers, cookies }: SignIn, values: ReadonlyMap<string, string>): string | null {
  const listed = listedOrigins(values);
  if (listed === null) return null;
  const targets = [...(basic ? [basic.origin] : []), ...[...headers, ...cookies].map(({ origin }) => origin)];
  const outside = targets.find((origin) => !listed.includes(origin));
  return outside === undefined
    ? null
    : `The key ${ORIGINS_KEY} in the Secret of the sign-in does not list ${outside}, so its values may not be sent there.`;
}

/** Returns the headers with the credentials for a URL, without cookies; none for other origins. Names are in lower case. */
export function signInHeaders({ basic, headers }: SignIn, url: URL): Record<string, string> {
  return {
    ...(basic?.origin === url.origin && {
      authorization: `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`,
    }),
    ...Object.fromEntries(headers.filter(({ origin }) => origin === url.origin).map(({ name, value }) => [name.toLowerCase(), value])),
  };
}

/** Splits the value of a Cookie header into cookies. */
function cookiesOf(header: string): { name: string; value: string }[] {
  return header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    return at < 1 || name === '' ? [] : [{ name, value: pair.slice(at + 1).trim() }];
  });
}
