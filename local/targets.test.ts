import { expect } from 'chai';
import { allowedTargets } from './product.ts';

describe('what scans on this machine may reach', () => {
  it('is loopback', () => {
    expect(allowedTargets()).to.deep.equal({ value: '127.0.0.0/8,::1/128', described: 'loopback' });
  });

  for (const typed of ['host.docker.internal:3000', 'http://host.docker.internal:3000/shop', 'host.docker.internal'])
    it(`is the host of ${typed}, too`, () => {
      expect(allowedTargets(typed)).to.deep.equal({
        value: '127.0.0.0/8,::1/128,host.docker.internal',
        described: 'loopback and host.docker.internal',
      });
    });

  it('is loopback only if the address cannot be read: the command line reports it', () => {
    expect(allowedTargets('http://').described).to.equal('loopback');
  });
});
