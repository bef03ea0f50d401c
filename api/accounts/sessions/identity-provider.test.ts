import { expect } from 'chai';
import { identityProblems } from './identity-provider.ts';

describe('identityProblems', () => {
  const complete = { OIDC_ISSUER: 'https://login.example.com', OIDC_CLIENT_ID: 'curbcut', OIDC_CLIENT_SECRET: 's' };
  const NEEDS = 'the OpenID Connect provider needs OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET.';
  const cases: [what: string, environment: Record<string, string>, problems: string[]][] = [
    ['no provider', {}, []],
    ['empty values', { OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '' }, []],
    ['a complete provider', complete, []],
    ['a complete provider without passwords', { ...complete, LOCAL_PASSWORDS: 'false' }, []],
    ['passwords only', { LOCAL_PASSWORDS: 'true' }, []],
    [
      'neither',
      { LOCAL_PASSWORDS: 'false' },
      [
        'LOCAL_PASSWORDS is "false"; set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET too, because users would have no other way to sign in.',
      ],
    ],
    ['no secret', { ...complete, OIDC_CLIENT_SECRET: '' }, [`OIDC_CLIENT_SECRET is not set; ${NEEDS}`]],
    [
      'only a secret',
      { OIDC_CLIENT_SECRET: 's', LOCAL_PASSWORDS: 'false' },
      [`OIDC_ISSUER is not set; ${NEEDS}`, `OIDC_CLIENT_ID is not set; ${NEEDS}`],
    ],
  ];
  const tenants = 'is for accounts of any tenant';
  const issuers: [path: string, accepted: boolean][] = [
    ['common/v2.0', false],
    ['Organizations/v2.0/', false],
    ['consumers', false],
    ['9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', false],
    ['0b5d3a58-1f5e-4c0c-8a35-7f1f3e3b2a11/v2.0', true],
    ['realms/common', true],
    ['commons', true],
  ];
  for (const [path, accepted] of issuers)
    it(`${accepted ? 'accepts' : 'refuses'} the addresses of /${path} as verified`, () => {
      const environment = { ...complete, OIDC_ISSUER: `https://login.microsoftonline.com/${path}` };
      expect(identityProblems(environment)).to.deep.equal([]);
      const problems = identityProblems({ ...environment, OIDC_EMAILS_VERIFIED: 'true' });
      expect(problems.map((problem) => problem.includes(tenants))).to.deep.equal(accepted ? [] : [true]);
      expect(identityProblems({ ...environment, OIDC_ROLE_MAPPING: '[]' })).to.have.length(problems.length);
    });
  for (const [what, environment, problems] of cases)
    it(`${problems.length === 0 ? 'accepts' : 'rejects'} ${what}`, () => expect(identityProblems(environment)).to.deep.equal(problems));
});
