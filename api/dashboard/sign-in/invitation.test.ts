import { expect } from 'chai';
import { invitationWay, type InvitationWay } from './invitation.ts';

const EMAIL = 'ann@people.example';
const [NONE, UNVERIFIED, VERIFIED] = [null, { verified: false }, { verified: true }];

/** Each state of the link, the account and the browser. */
const WAYS: readonly [
  mailed: boolean,
  account: typeof NONE | { verified: boolean },
  belongs: boolean,
  signedIn: string | null,
  InvitationWay,
][] = [
  [true, NONE, false, null, 'new_password'],
  [true, UNVERIFIED, false, null, 'new_password'],
  [true, UNVERIFIED, true, null, 'new_password'],
  [true, UNVERIFIED, true, EMAIL, 'new_password'],
  [true, VERIFIED, true, null, 'sign_in'],
  [true, VERIFIED, false, null, 'sign_in'],
  [true, VERIFIED, true, EMAIL, 'join'],
  [false, NONE, false, null, 'new_password'],
  [false, UNVERIFIED, false, null, 'new_password'],
  [false, UNVERIFIED, true, null, 'sign_in'],
  [false, UNVERIFIED, true, EMAIL, 'join'],
  [false, VERIFIED, false, null, 'sign_in'],
  [false, VERIFIED, true, null, 'sign_in'],
  [false, VERIFIED, true, EMAIL, 'join'],
  [true, NONE, false, 'bob@people.example', 'other_account'],
  [false, VERIFIED, true, 'bob@people.example', 'other_account'],
];

// ASVS 6.3: proof of an address, and who may use an account that exists.
describe('the way to join by an invitation', () => {
  for (const [mailed, account, belongs, signedIn, way] of WAYS)
    it(`is ${way} if ${JSON.stringify({ mailed, account, belongs, signedIn })}`, () => {
      expect(invitationWay({ invitation: { email: EMAIL, mailed }, account, belongs, signedIn })).to.equal(way);
    });
});
