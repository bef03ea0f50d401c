import { expect } from 'chai';
import { isTestTarget } from './targets.ts';

describe('targets of test keys', () => {
  const named = ['demo.example:8080', 'try.example', '10.0.0.7', '10.0.0.8:81'];

  it('are loopback addresses and named hosts', () => {
    for (const url of [
      'http://127.0.0.1:3000/',
      'http://127.9.9.9/',
      'http://2130706433/',
      'http://[::1]:3000/',
      'http://[::ffff:127.0.0.1]/',
      'http://localhost/',
      'http://localhost.:3000/',
      'http://app.localhost/',
      'http://demo.example:8080/en/',
      'https://TRY.example:9000/',
      'http://10.0.0.7:8081/',
      'http://10.0.0.8:81/',
    ])
      expect(isTestTarget(url, named), url).to.equal(true);
  });

  it('are no other addresses, names or ports', () => {
    for (const url of [
      'https://example.com/',
      'http://10.0.0.1/',
      'http://10.0.0.8/',
      'http://[::2]/',
      'http://demo.example/',
      'http://not-try.example/',
      'http://localhost.example/',
      'http://127.0.0.1.example/',
      'localhost',
    ])
      expect(isTestTarget(url, named), url).to.equal(false);
    expect(isTestTarget('http://demo.example:8080/', [])).to.equal(false);
  });
});
