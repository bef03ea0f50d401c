import { expect } from 'chai';
import { FetchRefused, type Fetched, type FetchOptions } from '../egress/fetch.ts';
import { fetchRobots, parseRobots, ROBOTS_MAX_BYTES } from './robots.ts';

const SITE = new URL('https://a.test/start');
const at = (path: string): URL => new URL(path, SITE);

/** @param answers the results of the tries, in order; the last one repeats */
function setUp(answers: (Partial<Fetched> | FetchRefused)[]) {
  const waits: number[] = [];
  let asked = 0;
  const deps = {
    files: {
      get(url: URL, { maxBytes }: FetchOptions): Promise<Fetched> {
        const answer = answers[Math.min(asked++, answers.length - 1)]!;
        if (answer instanceof FetchRefused) return Promise.reject(answer);
        const body = answer.body ?? new Uint8Array();
        return Promise.resolve({
          url,
          status: 200,
          contentType: 'text/plain',
          ...answer,
          body: body.subarray(0, maxBytes),
          cut: body.length > maxBytes,
        });
      },
    },
    clock: { now: () => new Date(0), sleep: async (ms: number) => void waits.push(ms) },
  };
  return { waits, asked: () => asked, robots: () => fetchRobots(SITE, deps) };
}

async function refusal(answers: Parameters<typeof setUp>[0], path: string): Promise<string | null> {
  const answer = await setUp(answers).robots();
  if (!answer.ok) throw new Error(answer.message);
  return answer.robots.refusal(at(path));
}

const RULES = Buffer.from('User-agent: *\nDisallow: /private\n');

describe('robots.txt', () => {
  it('is read up to its limit if it is larger, without the line that was cut', async () => {
    const padding = Buffer.alloc(ROBOTS_MAX_BYTES - RULES.length - 12, '#');
    const body = Buffer.concat([RULES, padding, Buffer.from('\nDisallow: /a-long-path\nDisallow: /beyond\n')]);
    expect(body.subarray(0, ROBOTS_MAX_BYTES).toString()).to.match(/\nDisallow: \/$/);
    expect(await refusal([{ body }], '/private/x')).to.include('disallows /private/x (line 2)');
    expect(await refusal([{ body }], '/other')).to.equal(null);
  });

  it('is decoded by its byte order mark or its header', async () => {
    const text = 'User-agent: *\nDisallow: /ä\n';
    for (const answer of [
      { body: Buffer.from(`\ufeff${text}`, 'utf16le') },
      { body: Buffer.from(text, 'latin1'), contentType: 'text/plain; charset=iso-8859-1' },
    ])
      expect(await refusal([answer], '/ä')).to.include('(line 2)');
  });

  for (const [name, answer] of [
    ['is missing', { status: 404 }],
    ['is forbidden', { status: 403 }],
    ['redirects too often', new FetchRefused('redirects', 'redirects more than 5 times')],
  ] as const)
    it(`allows all pages if it ${name}`, async () => expect(await refusal([answer], '/private')).to.equal(null));

  it('is tried again after a server error, a limit or a network error', async () => {
    for (const answer of [{ status: 503 }, { status: 429 }, new FetchRefused('network', 'reset')]) {
      const { robots, waits, asked } = setUp([answer, answer, { body: RULES }]);
      const read = await robots();
      expect(read.ok && read.robots.refusal(at('/private'))).to.include('disallows /private');
      expect(asked()).to.equal(3);
      expect(waits).to.deep.equal([1000, 3000]);
    }
  });

  it('is tried again after Retry-After, within bounds', async () => {
    const { robots, waits } = setUp([{ status: 503, retryAfter: '2' }, { status: 503, retryAfter: '3600' }, { body: RULES }]);
    await robots();
    expect(waits).to.deep.equal([2000, 10_000]);
  });

  it('is unreachable after three tries, and says what to do', async () => {
    const { robots, asked } = setUp([{ status: 500 }]);
    const answer = await robots();
    expect(answer).to.include({ ok: false, reason: 'unreachable' });
    expect(answer.ok ? '' : answer.message)
      .to.include('https://a.test/robots.txt could not be read in 3 tries. It responded with status 500.')
      .and.to.include('respectRobots: false');
    expect(asked()).to.equal(3);
  });

  it('of a site that is down is tried again, and the failure says so without advice about the file', async () => {
    const { robots, asked } = setUp([new FetchRefused('unreachable', 'It refused the connection.')]);
    const answer = await robots();
    expect(answer.ok ? '' : answer.message).to.equal(
      'https://a.test could not be reached in 3 tries, so no page was loaded. It refused the connection.',
    );
    expect(asked()).to.equal(3);
  });

  it('is not tried again if its certificate or its address is not accepted', async () => {
    for (const kind of ['certificate', 'refused'] as const) {
      const { robots, asked } = setUp([new FetchRefused(kind, 'No.')]);
      expect((await robots()).ok).to.equal(false);
      expect(asked()).to.equal(1);
    }
  });

  it('holds for every address of its site', () => {
    const { refusal } = parseRobots(at('/robots.txt'), 'User-agent: *\nDisallow: /private\nDisallow: /*?secret=\n');
    expect(refusal(new URL('https://a.test/x?secret=1'))).to.include('disallows /x?secret=1 (line 3)');
    for (const url of ['https://a.test/private', 'http://a.test/private', 'https://www.a.test/private', 'https://a.test/x?secret=1'])
      for (let time = 0; time < 2; time += 1) expect(refusal(new URL(url)), url).to.include('https://a.test/robots.txt disallows');
    expect(refusal(at('/x'))).to.equal(null);
    expect(refusal(at('//private'))).to.equal(null);
  });
});
