import { expect } from 'chai';
import { explainNetworkError, networkFailureMessage } from './network-errors.ts';

describe('network errors', () => {
  const cases: [code: string, words: string][] = [
    ['net::ERR_CERT_AUTHORITY_INVALID', 'known authority'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'known authority'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'complete chain'],
    ['net::ERR_CERT_DATE_INVALID', 'expired'],
    ['CERT_HAS_EXPIRED', 'Renew'],
    ['net::ERR_CERT_COMMON_NAME_INVALID', 'another host name'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'another host name'],
    ['net::ERR_CERT_WEAK_KEY', 'certificate is invalid'],
    ['net::ERR_SSL_PROTOCOL_ERROR', 'TLS handshake'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'TLS handshake'],
    ['net::ERR_TOO_MANY_REDIRECTS', 'keeps redirecting'],
    ['net::ERR_EMPTY_RESPONSE', 'without a response'],
    ['ECONNREFUSED', 'refused the connection'],
    ['ETIMEDOUT', 'did not answer in time'],
    ['net::ERR_INVALID_HTTP_RESPONSE', 'not valid HTTP'],
    ['net::ERR_INCOMPLETE_CHUNKED_ENCODING', 'before the whole response'],
  ];
  for (const [code, words] of cases) it(`explain ${code}`, () => expect(explainNetworkError(code)).to.include(words));

  it('keep an unknown code', () => {
    expect(explainNetworkError('net::ERR_FAILED')).to.equal(null);
    expect(networkFailureMessage('a.test', 'EWHATEVER')).to.equal('a.test is unreachable (EWHATEVER).');
  });
});
