import { expect } from 'chai';
import { identityProblems } from './identity-provider.ts';
import { RoleSettings, rolesOf, type RoleRule } from './role-mapping.ts';

describe('the mapping of roles', () => {
  const mistakesIn = (RoleSettings.OIDC_ROLE_MAPPING as unknown as { mistakes: (text: string) => string[] }).mistakes;
  const rule = (value: string, organisation: string, role: string) => ({ value, organisation, role }) as RoleRule;
  const broken: [text: string, mistake: RegExp][] = [
    ['admins:acme:owner', /^OIDC_ROLE_MAPPING must be a list in JSON/],
    ['[]', /must be a list/],
    [JSON.stringify([rule('a', 'acme', 'owner'), rule('a', 'acme', 'admin')]), /^Item 2 of .* and owner, member or viewer/],
    [JSON.stringify([rule('', 'acme', 'owner')]), /^Item 1/],
    [JSON.stringify([rule('a', 'Acme Ltd', 'owner')]), /^Item 1/],
    [JSON.stringify([{ ...rule('a', 'acme', 'owner'), team: 'x' }]), /^Item 1/],
  ];
  for (const [text, mistake] of broken) it(`is refused at start: ${text}`, () => expect(mistakesIn(text).join('\n')).to.match(mistake));

  it('needs a provider', () => expect(identityProblems({ OIDC_ROLE_MAPPING: '[]' }).join()).to.match(/OIDC_ROLE_MAPPING is set; it needs/));

  it('gives the highest role of an organisation, and none where no value matches', () => {
    const rules = [rule('all', 'acme', 'viewer'), rule('heads', 'acme', 'owner'), rule('all', 'shop', 'member'), rule('x', 'lab', 'owner')];
    expect([...rolesOf(rules, ['all', 'heads', 'other'])]).to.deep.equal([['acme', 'owner'], ['shop', 'member'], ['lab', null]]); // prettier-ignore
  });
});
