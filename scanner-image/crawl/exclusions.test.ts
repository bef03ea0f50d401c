import { expect } from 'chai';
import { addressOf } from './address.ts';
import { leavesOut } from './exclusions.ts';

describe('the rules for addresses that a site names', () => {
  const page = (path: string): ReturnType<typeof addressOf> => addressOf(new URL(path, 'https://example.org'));
  const exclusionOf = (): null => null;

  it('leave out addresses that sign out, if the scan is signed in', () => {
    for (const path of ['/logout', '/account/sign-out', '/LogOff.aspx', '/user/log_out/']) {
      expect(leavesOut({ signedIn: true, exclusionOf }, page(path)), path).to.have.property('reason', 'excluded');
      expect(leavesOut({ signedIn: false, exclusionOf }, page(path)), path).to.equal(null);
    }
    expect(leavesOut({ signedIn: true, exclusionOf }, page('/catalogue/outlook'))).to.equal(null);
  });

  it('leave out what the scan excludes', () => {
    const why = { reason: 'excluded', message: 'Left out.' } as const;
    expect(leavesOut({ signedIn: false, exclusionOf: () => why }, page('/a'))).to.equal(why);
  });
});
