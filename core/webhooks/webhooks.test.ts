import { expect } from 'chai';
import { aboutAddress, hostOf } from './webhooks.ts';

describe('the address of a webhook', () => {
  it('is shown without what may be a secret, also if it is not a URL', () => {
    expect(hostOf({ url: 'https://hooks.example.com:8443/secret?token=1' })).to.equal('hooks.example.com:8443');
    expect(hostOf({ url: 'https://h:99999/secret' })).to.equal('not a URL');
  });

  it('is refused in words that are not about scans', () => {
    expect(aboutAddress('Port 22 cannot be scanned; only public hosts can be scanned.')).to.equal(
      'Port 22 cannot be used; only public hosts can be used.',
    );
  });
});
