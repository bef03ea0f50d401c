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
  for (const [what, environment, problems] of cases)
    it(`${problems.length === 0 ? 'accepts' : 'rejects'} ${what}`, () => expect(identityProblems(environment)).to.deep.equal(problems));
});
