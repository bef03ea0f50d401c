import { expect } from 'chai';
import { fingerprintOf } from './fingerprint.ts';

describe('fingerprint of a submission', () => {
  const body = {
    url: 'https://example.com/',
    max_pages: 7,
    min_score: 90,
    metadata: { branch: 'b', commit: 'c' },
    baseline: { metadata: { a: '1', b: '2' } },
  };
  const same: [string, object][] = [
    [
      'another order of the fields',
      { min_score: 90, metadata: body.metadata, baseline: body.baseline, max_pages: 7, url: 'https://example.com/' },
    ],
    ['another order of the pairs of a baseline', { ...body, baseline: { metadata: { b: '2', a: '1' } } }],
    ['a field that is null instead of absent', { ...body, max_violations: null }],
    ['another order of the pairs of metadata', { ...body, metadata: { commit: 'c', branch: 'b' } }],
    ['another spelling of the URL', { ...body, url: 'HTTPS://Example.com:443' }],
  ];
  for (const [what, other] of same) it(`ignores ${what}`, () => expect(fingerprintOf(other)).to.equal(fingerprintOf(body)));

  const different: [string, unknown][] = [
    ['another value', { ...body, max_pages: 8 }],
    ['another value of metadata', { ...body, metadata: { branch: 'b', commit: 'd' } }],
    ['another URL', { ...body, url: 'https://example.com/a' }],
    ['a field that is absent, whatever its default', { url: body.url, max_pages: 7 }],
    ['no body', undefined],
    ['another type of body', [body]],
  ];
  for (const [what, other] of different) it(`shows ${what}`, () => expect(fingerprintOf(other)).to.not.equal(fingerprintOf(body)));
});
