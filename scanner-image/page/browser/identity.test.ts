import { expect } from 'chai';
import { agentName, identityOf } from './target.ts';

describe('identity of the browser', () => {
  it('names the browser, the scanner and the service, with the same versions everywhere', () => {
    const { userAgent, languages, brands } = identityOf('140.0.7339.16', '2.3.4', 'pl', 'https://curbcut.example.org');
    expect(userAgent).to.match(/ Chrome\/140\.0\.0\.0 Safari\/537\.36 Curbcut\/2\.3\.4 \(\+https:\/\/curbcut\.example\.org\)$/);
    expect(languages).to.deep.equal(['pl-PL', 'pl', 'en']);
    expect(brands.slice(1)).to.deep.equal([
      { brand: 'Chromium', version: '140' },
      { brand: 'Curbcut', version: '2' },
    ]);
  });

  it('has no address if the installation has none', () => {
    expect(agentName('2.3.4')).to.equal('Curbcut/2.3.4');
  });
});
