import { expect } from 'chai';
import { explainNetworkError, isProxyError, networkFailureMessage } from './egress-failures.ts';

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

describe('an error of the outbound proxy', () => {
  const squid = { 'x-squid-error': 'ERR_ACCESS_DENIED 0' };
  const cases: [what: string, status: number, headers: Record<string, string>, isOfProxy: boolean][] = [
    ['a demand for credentials', 407, {}, true],
    ['an error without a mark', 503, {}, false],
    ['an error of Squid', 403, { ...squid, via: '1.1 proxy.corp (squid/6.6)' }, true],
    ['an error of Squid without Via', 503, squid, true],
    ['an error of the Squid of a site', 503, { ...squid, via: '1.1 cache.site (squid/6.6), 1.1 proxy.corp' }, false],
    ['an error with one hop and a comma in its comment', 503, { ...squid, via: '1.1 proxy.corp (squid, 6.6)' }, true],
    ['an error of the nearest hop', 502, { 'proxy-status': 'proxy.corp; error=dns_error' }, true],
    [
      'an error of the nearest hop after another',
      502,
      { 'proxy-status': '"a, b"; received-status=200, proxy.corp;error=http_protocol_error' },
      true,
    ],
    [
      'an error of a hop behind the nearest',
      502,
      { 'proxy-status': 'cdn; error=connection_timeout, proxy.corp; received-status=502' },
      false,
    ],
    ['an error of a hop with details', 502, { 'proxy-status': 'cdn; received-status=502; details="a, b; error=none"' }, false],
    [
      'an error that a proxy without Proxy-Status forwards',
      503,
      { 'proxy-status': 'cdn; error=dns_error', via: '1.1 cdn, 1.1 proxy.corp' },
      false,
    ],
    ['a page that is not found', 404, { 'proxy-status': 'proxy.corp; error=dns_error' }, false],
  ];
  for (const [what, statusCode, headers, isOfProxy] of cases)
    it(`${isOfProxy ? 'is' : 'is not'} ${what}`, () => expect(isProxyError({ statusCode, headers })).to.equal(isOfProxy));
});
