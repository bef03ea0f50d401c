import { expect } from 'chai';
import { SIGN_IN_LIMITS, signInRules } from './sign-in-limits.ts';

describe('signInRules', () => {
  const attempt = { network: '192.0.2.1', email: 'ann@example.com' };
  const rules = (known: boolean, email = attempt.email) =>
    signInRules({ ...attempt, email, known }, SIGN_IN_LIMITS).map(({ policy, subject, limit }) => [policy, subject, limit]);
  const own = ['sign-in', '192.0.2.1/ann@example.com', 10];

  it('count an attempt per address, per address and account, and per account', () => {
    expect(rules(false)).to.deep.equal([['sign-in-address', '192.0.2.1', 60], own, ['sign-in-account', 'ann@example.com', 100]]);
  });

  it('do not count attempts from a network that the account knows for either alone, so that strangers cannot lock people out', () => {
    expect(rules(true)).to.deep.equal([own]);
  });

  it('count the tags of an address as the address', () => {
    for (const known of [true, false]) expect(rules(known, 'ann+7@example.com')).to.deep.equal(rules(known));
  });
});
