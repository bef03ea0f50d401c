import { expect } from 'chai';
import { SIGN_IN_LIMITS, signInRules } from './sign-in-limits.ts';

describe('signInRules', () => {
  const attempt = { network: '192.0.2.1', email: 'ann@example.com' };
  const rules = (known: boolean) =>
    signInRules({ ...attempt, known }, SIGN_IN_LIMITS).map(({ policy, subject, limit }) => [policy, subject, limit]);
  const counted = [
    ['sign-in-address', '192.0.2.1', 60],
    ['sign-in', '192.0.2.1/ann@example.com', 10],
  ];

  it('count an attempt per address, per address and account, and per account', () => {
    expect(rules(false)).to.deep.equal([...counted, ['sign-in-account', 'ann@example.com', 100]]);
  });

  it('do not count attempts from a network of the user for the account, so that strangers cannot lock the user out', () => {
    expect(rules(true)).to.deep.equal(counted);
  });
});
