import { expect } from 'chai';
import { FetchRefused, type FetchRefusal, type GuardedFetch } from '../egress/fetch.ts';
import { RETRY_MS, startOf } from './robots.ts';

type Answer = true | FetchRefusal;

/** A host that answers by scheme: true, or why it does not, for each try; the last one repeats. */
function host(answers: Record<'https:' | 'http:', Answer | Answer[]>) {
  const asked: string[] = [];
  const waits: number[] = [];
  const get: GuardedFetch['get'] = (url) => {
    const tries = [answers[url.protocol as keyof typeof answers]].flat();
    const answer = tries[asked.filter((href) => href === url.href).length] ?? tries.at(-1)!;
    asked.push(url.href);
    if (answer !== true) return Promise.reject(new FetchRefused(answer, 'no'));
    return Promise.resolve({ url, status: 404, contentType: '', body: new Uint8Array(), cut: false });
  };
  const clock = { now: () => new Date(0), sleep: async (ms: number) => void waits.push(ms) };
  return { deps: { files: { get }, clock }, asked, waits };
}

describe('the start of a scan', () => {
  const URL_ASKED = 'https://example.com:8443/a?b#c';
  const table: [what: string, answers: Parameters<typeof host>[0], start: string][] = [
    ['https where it answers', { 'https:': true, 'http:': true }, 'https://example.com:8443/a?b'],
    ['http where https cannot be reached', { 'https:': 'unreachable', 'http:': true }, 'http://example.com:8443/a?b'],
    ['http where https never answers', { 'https:': 'network', 'http:': true }, 'http://example.com:8443/a?b'],
    ['https where neither answers', { 'https:': 'unreachable', 'http:': 'network' }, 'https://example.com:8443/a?b'],
    [
      'https where it answers at the third try',
      { 'https:': ['network', 'unreachable', true], 'http:': true },
      'https://example.com:8443/a?b',
    ],
    [
      'http where it answers at the third try',
      { 'https:': 'network', 'http:': ['network', 'network', true] },
      'http://example.com:8443/a?b',
    ],
    ['https with a certificate that is not accepted', { 'https:': 'certificate', 'http:': true }, 'https://example.com:8443/a?b'],
    ['https where the target rules refuse http', { 'https:': 'unreachable', 'http:': 'refused' }, 'https://example.com:8443/a?b'],
  ];
  for (const [what, answers, start] of table)
    it(`is ${what}, for an address without a scheme`, async () => {
      const { deps } = host(answers);
      expect((await startOf({ url: URL_ASKED, httpFallback: true }, deps)).href).to.equal(start);
    });

  it('is the URL as it is, without a request, if it was given with its scheme', async () => {
    const { deps, asked } = host({ 'https:': 'unreachable', 'http:': true });
    expect((await startOf({ url: URL_ASKED, httpFallback: false }, deps)).href).to.equal('https://example.com:8443/a?b');
    expect((await startOf({ url: 'http://example.com/', httpFallback: true }, deps)).href).to.equal('http://example.com/');
    expect(asked).to.deep.equal([]);
  });

  it('is asked three times at each address, with the waits of robots.txt', async () => {
    const { deps, asked, waits } = host({ 'https:': 'network', 'http:': 'unreachable' });
    await startOf({ url: URL_ASKED, httpFallback: true }, deps);
    expect(asked.map((href) => new URL(href).protocol)).to.deep.equal(['https:', 'https:', 'https:', 'http:', 'http:', 'http:']);
    expect(waits).to.deep.equal([...RETRY_MS, ...RETRY_MS]);
  });

  it('ends with the scan', async () => {
    const gone = { files: { get: () => Promise.reject(new Error('aborted')) } };
    expect(await startOf({ url: URL_ASKED, httpFallback: true }, gone).catch((error: Error) => error.message)).to.equal('aborted');
  });
});
