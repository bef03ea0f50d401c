import { expect } from 'chai';
import { FetchRefused, type FetchRefusal, type GuardedFetch } from '../egress/fetch.ts';
import { startOf } from './start.ts';

/** A host that answers by scheme: true, or why it does not. */
function host(answers: Record<'https:' | 'http:', true | FetchRefusal>) {
  const asked: string[] = [];
  const get: GuardedFetch['get'] = (url) => {
    asked.push(url.href);
    const answer = answers[url.protocol as keyof typeof answers];
    if (answer !== true) return Promise.reject(new FetchRefused(answer, 'no'));
    return Promise.resolve({ url, status: 404, contentType: '', body: new Uint8Array(), cut: false });
  };
  return { files: { get }, asked };
}

describe('the start of a scan', () => {
  const URL_ASKED = 'https://example.com:8443/a?b#c';
  const table: [what: string, answers: Parameters<typeof host>[0], start: string][] = [
    ['https where it answers', { 'https:': true, 'http:': true }, 'https://example.com:8443/a?b'],
    ['http where https cannot be reached', { 'https:': 'unreachable', 'http:': true }, 'http://example.com:8443/a?b'],
    ['http where https never answers', { 'https:': 'network', 'http:': true }, 'http://example.com:8443/a?b'],
    ['https where neither answers', { 'https:': 'unreachable', 'http:': 'network' }, 'https://example.com:8443/a?b'],
    ['https with a certificate that is not accepted', { 'https:': 'certificate', 'http:': true }, 'https://example.com:8443/a?b'],
    ['https where the target rules refuse http', { 'https:': 'unreachable', 'http:': 'refused' }, 'https://example.com:8443/a?b'],
  ];
  for (const [what, answers, start] of table)
    it(`is ${what}, for an address without a scheme`, async () => {
      const { files } = host(answers);
      expect((await startOf({ url: URL_ASKED, httpFallback: true }, files)).href).to.equal(start);
    });

  it('is the URL as it is, without a request, if it was given with its scheme', async () => {
    const { files, asked } = host({ 'https:': 'unreachable', 'http:': true });
    expect((await startOf({ url: URL_ASKED, httpFallback: false }, files)).href).to.equal('https://example.com:8443/a?b');
    expect((await startOf({ url: 'http://example.com/', httpFallback: true }, files)).href).to.equal('http://example.com/');
    expect(asked).to.deep.equal([]);
  });

  it('ends with the scan', async () => {
    const gone = { get: () => Promise.reject(new Error('aborted')) };
    expect(await startOf({ url: URL_ASKED, httpFallback: true }, gone).catch((error: Error) => error.message)).to.equal('aborted');
  });
});
