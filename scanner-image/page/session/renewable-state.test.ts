import { expect } from 'chai';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { createRedactor } from '../../pod/redact.ts';
import { createRenewableState, SIGN_INS_AGAIN_MAX } from './renewable-state.ts';
import { NO_SIGN_IN } from './sign-in.ts';
import type { StepsResult } from './steps.ts';

/** The state of a scan whose sign-ins end as given, in turn; the last end repeats. */
function stateWith(...ends: StepsResult[]) {
  let signIns = 0;
  const pool = { runSteps: () => Promise.resolve(ends[Math.min(signIns++, ends.length - 1)]!) };
  const steps = [{ step: { goto: '/login' }, description: 'goto /login' }];
  const session = createRenewableState(pool, {
    signIn: { ...NO_SIGN_IN, steps },
    redactor: createRedactor(),
    log: silentLogger,
    rules: { consent: 'keep', prepare: [] },
    start: new URL('https://site.example/'),
    softDeadline: Infinity,
  });
  return { session, signIns: () => signIns };
}
const SIGNED_IN: StepsResult = { ok: true, state: { cookies: [], storage: [] }, consent: null };

describe('the state of a scan that signs in', () => {
  it('is renewed a limited number of times', async () => {
    const { session, signIns } = stateWith(SIGNED_IN);
    for (let again = 0; again < SIGN_INS_AGAIN_MAX; again++) expect(await session.renew()).to.include({ ok: true });
    expect(await session.renew()).to.deep.include({ ok: false });
    expect(signIns()).to.equal(SIGN_INS_AGAIN_MAX);
  });

  it('is renewed once for pages that lost it at the same time', async () => {
    const { session, signIns } = stateWith(SIGNED_IN);
    await Promise.all([session.renew(), session.renew()]);
    expect([signIns(), session.current().signIn]).to.deep.equal([1, 2]);
  });

  it('is not renewed again after an attempt that failed, because more could lock the account', async () => {
    const { session, signIns } = stateWith({ ok: false, opened: true, message: 'No.' }, SIGNED_IN);
    for (let again = 0; again < 2; again++)
      expect(await session.renew())
        .to.have.property('message')
        .that.includes('No.');
    expect(signIns()).to.equal(1);
  });
});
