/** Which groups or roles of the identity provider give which role in which organisation. The provider then decides there alone. */
import type { Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Role, ROLES } from '../../../core/accounts.ts';
import { ORGANISATION_ID } from '../../../core/organisation.ts';
import { oneOf } from '../../../core/schemas.ts';
import { checked, Type } from '../../../platform/configuration.ts';
import { text } from '../../../platform/settings.ts';

/** `value`: of the claim, such as the name or the ID of a group. */
const Rule = Type.Object(
  { value: Type.String({ minLength: 1 }), organisation: Type.String({ pattern: ORGANISATION_ID.source }), role: oneOf(ROLES) },
  { additionalProperties: false },
);
const isRule = Compile(Rule);
export type RoleRule = Static<typeof Rule>;

export interface RoleMapping {
  /** The name of the claim, or its path with dots. */
  claim: string;
  rules: readonly RoleRule[];
}

const VARIABLE = 'OIDC_ROLE_MAPPING';
const FORM = 'a value of the claim, the ID of an organisation, and owner, member or viewer: {"value": …, "organisation": …, "role": …}';

function mistakesIn(json: string): string[] {
  let rules: unknown;
  try {
    rules = JSON.parse(json);
  } catch {
    rules = null;
  }
  if (!Array.isArray(rules) || rules.length === 0) return [`${VARIABLE} must be a list in JSON, each item with ${FORM}.`];
  return rules.flatMap((rule, at) =>
    isRule.Check(rule) ? [] : [`Item ${at + 1} of ${VARIABLE} is ${JSON.stringify(rule)}; it must have ${FORM}.`],
  );
}

export const DEFAULT_SCOPES = 'openid email profile';

export const RoleSettings = {
  OIDC_SCOPES: text('the scopes that are asked for, separated by spaces, with openid', {
    default: DEFAULT_SCOPES,
    pattern: '(^| )openid( |$)',
  }),
  OIDC_ROLE_CLAIM: text('the claim for OIDC_ROLE_MAPPING, or its path, such as realm_access.roles', { default: 'groups' }),
  OIDC_ROLE_MAPPING: Type.Optional(
    text(
      'a list in JSON of values of the claim and the roles that they give: the provider then decides alone who belongs to these organisations',
      checked(mistakesIn),
    ),
  ),
};

type Claims = Readonly<Record<string, unknown>>;

const at = (value: unknown, name: string): unknown => (typeof value === 'object' && value !== null ? (value as Claims)[name] : undefined);

/** The value of a claim by its name, which may have dots itself, else by its path. */
export const claimAt = (claims: Claims, path: string): unknown => claims[path] ?? path.split('.').reduce<unknown>(at, claims);

/** Whether the provider keeps a claim elsewhere, as Microsoft Entra ID does with the groups of people who have more than 200. */
export const isElsewhere = (claims: Claims, path: string): boolean =>
  [path, path.split('.')[0]!].some((name) => at(claims['_claim_names'], name) !== undefined) ||
  (path === 'groups' && claims['hasgroups'] !== undefined);

/** `absent`: the provider has not sent the claim. `unknown`: the values are elsewhere, or of an unknown form. */
export type RoleValues = readonly string[] | 'absent' | 'unknown';

/** Returns the values of a claim. */
export function valuesOf(claims: Claims, path: string): RoleValues {
  const value = claimAt(claims, path);
  if (value === undefined || value === null) return isElsewhere(claims, path) ? 'unknown' : 'absent';
  const values = [value].flat();
  return values.every((one) => typeof one === 'string') ? values : 'unknown';
}

/** The role that the values give in each organisation of the mapping, the highest of several; null: none. */
export function rolesOf(rules: readonly RoleRule[], values: readonly string[]): Map<string, Role | null> {
  const given = rules.filter(({ value }) => values.includes(value));
  const best = (id: string) => ROLES.find((role) => given.some((rule) => rule.organisation === id && rule.role === role)) ?? null;
  return new Map(rules.map(({ organisation }) => [organisation, best(organisation)]));
}

/** Whether the identity provider alone decides who belongs to an organisation, and with which role. */
export const providerDecides = (
  { identityProvider }: { identityProvider: { roleMapping?: RoleMapping } | null },
  organisation: string,
): boolean => identityProvider?.roleMapping?.rules.some((rule) => rule.organisation === organisation) ?? false;
