import { expect } from 'chai';
import { seal, unseal } from './sealed-response.ts';

describe('sealed responses', () => {
  const created = { status: 201, headers: { location: '/v1/x' }, body: '{"secret":"grün"}' };

  it('open with the secret and the salt', () => {
    for (const response of [created, { status: 204, headers: {}, body: null }])
      expect(unseal(seal(response, 'secret', 'salt'), 'secret', 'salt')).to.deep.equal(response);
  });

  it('do not show their content, and differ each time', () => {
    const sealed = seal(created, 'secret', 'salt');
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).to.not.include('secret');
    expect(seal(created, 'secret', 'salt')).to.not.equal(sealed);
  });

  it('do not open with another secret or salt, or after a change', () => {
    const sealed = seal(created, 'secret', 'salt');
    const changed = Buffer.from(sealed, 'base64url');
    changed[20]! ^= 1;
    for (const [text, secret, salt] of [
      [sealed, 'other', 'salt'],
      [sealed, 'secret', 'other'],
      [changed.toString('base64url'), 'secret', 'salt'],
    ] as const)
      expect(() => unseal(text, secret, salt)).to.throw();
  });
});
