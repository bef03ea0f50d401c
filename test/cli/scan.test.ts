import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  SCAN_ID,
  KEY,
  accepted,
  complete,
  curbcut,
  progress,
  result,
  startService,
  stream,
  type Answering,
  type Output,
  type Service,
} from './service.ts';

const SUBMIT = 'POST /v1/ci/scans';
const EVENTS = `GET /v1/ci/scans/${SCAN_ID}/events`;
const POLL = `GET /v1/ci/scans/${SCAN_ID}`;

describe('curbcut scan', () => {
  let service: Service | undefined;
  afterEach(async () => {
    await service?.close();
    service = undefined;
  });

  /** Runs a scan against routes. Each route sends its answers in order, and repeats the last one. */
  async function against(
    routes: Record<string, Answering[]>,
    args: string[] = [],
    options: Parameters<typeof curbcut>[1] = {},
  ): Promise<Output> {
    const asked = new Map<string, number>();
    service = await startService((request, response) => {
      const route = `${request.method} ${request.path}`;
      const answers = routes[route];
      if (answers === undefined) return { status: 404, body: { detail: 'not_found', message: `Nothing at ${route}.` } };
      const count = asked.get(route) ?? 0;
      asked.set(route, count + 1);
      return answers[Math.min(count, answers.length - 1)]!(request, response);
    });
    return curbcut(['scan', 'https://x.example/', ...args], { url: service.url, ...options });
  }
  const accepts: Answering = () => ({ status: 202, body: accepted });
  const streams =
    (...pieces: string[]): Answering =>
    (_, response) =>
      stream(response, pieces);
  const replies =
    (status: number, body: unknown, headers: Record<string, string> = {}): Answering =>
    () => ({ status, body, headers });

  describe('reports the result', () => {
    it('exits with 0 if the scan passed, and prints score, severities and verdict', async () => {
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(progress(1, 'scanning', 2, 5), complete(2))] });
      expect(ran.code).to.equal(0);
      expect(ran.stdout).to.match(
        /Score +97\.5 of 100\nViolations +3\n +critical +0\n +serious +1\n +moderate +2\n +minor +0\nVerdict +✓ passed\n$/,
      );
      expect(ran.stderr).to.include(`Scan ${SCAN_ID}`).and.to.include('scanning 2 of 5 pages');
    });

    it('exits with 1 if the scan did not pass, and prints a line for each missed threshold', async () => {
      const message = 'The score is 64.2, below the minimum of 90. There are 12 violations, more than the 0 allowed.';
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed: false, message, score: 64.2 }))] });
      expect(ran.code).to.equal(1);
      expect(ran.stdout).to.include(
        '✗ did not pass\n  ✗ The score is 64.2, below the minimum of 90.\n  ✗ There are 12 violations, more than the 0 allowed.\n',
      );
    });

    const ends: [string, Record<string, unknown>, number][] = [
      ['done without thresholds', { passed: null }, 0],
      [
        'failed with thresholds',
        { status: 'failed', passed: false, score: null, violations_count: null, message: 'The site cannot be reached.' },
        1,
      ],
      [
        'failed without thresholds',
        { status: 'failed', passed: null, score: null, violations_count: null, message: 'The site cannot be reached.' },
        2,
      ],
      ['canceled without thresholds', { status: 'canceled', passed: null, score: null, violations_count: null }, 2],
    ];
    for (const [name, change, code] of ends)
      it(`exits with ${code}: ${name}`, async () => {
        const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, change))] });
        expect(ran.code).to.equal(code);
        if (typeof change.message === 'string') expect(ran.stdout).to.include(change.message);
      });

    it('prints only JSON with --json', async () => {
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(progress(1, 'scanning', 2, 5), complete(2))] }, ['--json']);
      const { report_url: _, ...rest } = result();
      expect(JSON.parse(ran.stdout)).to.deep.equal(rest);
      expect(ran.stderr).to.equal('');
    });

    it('prints nothing with --quiet', async () => {
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed: false, message: 'No.' }))] }, ['--quiet']);
      expect(ran).to.deep.include({ code: 1, stdout: '', stderr: '' });
    });

    it('removes control characters from messages', async () => {
      const ran = await against({
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(complete(2, { passed: false, message: 'a\u001b[2Jb\u202ec' }))],
      });
      expect(ran.stdout).to.include('✗ a [2Jb c');
    });
  });

  describe('submission', () => {
    it('sends every option under its name in the API, with the API key and an idempotency key', async () => {
      await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] }, [
        ...['--min-score', '90.5', '--max-violations', '0', '--fail-on', 'Serious', '--max-pages', '25', '--wcag', '2.2-aaa', '--partial'],
      ]);
      const [submission] = service!.of('POST', '/v1/ci/scans');
      expect(submission!.body).to.deep.equal({
        url: 'https://x.example/',
        min_score: 90.5,
        max_violations: 0,
        fail_on_severity: 'serious',
        max_pages: 25,
        wcag_version: '2.2',
        wcag_level: 'AAA',
        fail_on_truncation: false,
      });
      expect(submission!.headers).to.include({ 'x-api-key': KEY, 'idempotency-key': 'key-of-this-run', 'user-agent': 'curbcut/1.2.3' });
    });

    it('sends no options that were not given', async () => {
      await against({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] });
      expect(service!.of('POST', '/v1/ci/scans')[0]!.body).to.deep.equal({ url: 'https://x.example/' });
    });

    it('retries with the same idempotency key if the connection breaks, so that nothing is charged twice', async () => {
      const breaks: Answering = (_, response) => void response.destroy();
      const ran = await against({ [SUBMIT]: [breaks, breaks, accepts], [EVENTS]: [streams(complete(2))] }, [
        '--idempotency-key',
        'build-7',
      ]);
      expect(ran.code).to.equal(0);
      const keys = service!.of('POST', '/v1/ci/scans').map(({ headers }) => headers['idempotency-key']);
      expect(keys).to.deep.equal(['build-7', 'build-7', 'build-7']);
    });

    it('waits for the Retry-After of a 429 or 503, and reports it', async () => {
      const ran = await against({
        [SUBMIT]: [
          replies(429, { detail: 'rate_limit_exceeded' }, { 'Retry-After': '7' }),
          replies(503, { detail: 'queue_paused', message: 'Paused.' }, { 'Retry-After': '30' }),
          accepts,
        ],
        [EVENTS]: [streams(complete(2))],
      });
      expect(ran.code).to.equal(0);
      expect(ran.slept).to.deep.equal([7000, 30_000]);
      expect(ran.stderr).to.include('The rate limit is reached; retrying in 7 s.');
      expect(ran.stderr).to.include('The scan queue is paused, nothing was charged; retrying in 30 s.');
    });

    it('waits no longer than --max-wait: exit code 2', async () => {
      const ran = await against({ [SUBMIT]: [replies(503, { detail: 'queue_paused', message: 'Paused.' }, { 'Retry-After': '30' })] }, [
        '--max-wait',
        '70',
      ]);
      expect(ran.code).to.equal(2);
      expect(ran.slept).to.deep.equal([30_000, 30_000]);
      expect(ran.stderr).to.include('Gave up after 3 attempts and 60 s of waiting (--max-wait 70).');
      expect(ran.stderr).to.not.include('idempotency');
    });

    it('prints how to find the outcome if no response arrived: exit code 2', async () => {
      const gone = await startService(() => undefined);
      await gone.close();
      const ran = await curbcut(['scan', 'https://x.example/', '--max-wait', '4'], { url: gone.url });
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include(`${gone.url} cannot be reached (connect ECONNREFUSED`);
      expect(ran.stderr).to.include('--idempotency-key key-of-this-run');
    });

    const refusals: [string, number, unknown, string[]][] = [
      ['a bad key', 401, { detail: 'invalid_api_key', message: 'Send a live API key.' }, ['was not accepted (401)', 'CURBCUT_API_KEY']],
      [
        'too few credits',
        402,
        { detail: 'insufficient_credits', message: 'Fewer.', balance: 3, pages_requested: 5 },
        ['5 pages were requested, 3 credits are available', '--partial'],
      ],
      ['a blocked account', 403, { detail: 'account_blocked', message: 'Blocked.' }, ['blocked (403)']],
      [
        'an invalid field',
        422,
        {
          detail: [
            { loc: ['body', 'url'], msg: 'localhost is a private name.', type: 'url.private_address' },
            { loc: ['body', 'max_pages'], msg: 'It must be at most 500.', type: 'number.maximum' },
          ],
        },
        ['  url: localhost is a private name.', '  max_pages: It must be at most 500.'],
      ],
      ['a web page instead of the API', 404, '<html></html>', ['There is no Curbcut service at http://127.0.0.1', 'CURBCUT_URL']],
      ['an unknown response', 202, { hello: 'world' }, ['does not understand (202)']],
      ['a payload that is too large', 413, { detail: 'payload_too_large', message: 'Too large.' }, ['413: Too large.']],
    ];
    for (const [name, status, body, said] of refusals)
      it(`explains ${name}: exit code 2`, async () => {
        const ran = await against({ [SUBMIT]: [replies(status, body)] });
        expect(ran.code).to.equal(2);
        for (const text of said) expect(ran.stderr).to.include(text);
        expect(ran.stdout).to.equal('');
        expect(service!.of('POST', '/v1/ci/scans')).to.have.length(1);
      });
  });

  describe('following', () => {
    it('continues to follow in a phase that a newer service added', async () => {
      const ran = await against({
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(progress(1, 'warming', 0, 4)), streams(complete(3))],
        [POLL]: [replies(202, result({ status: 'cooling', score: null, passed: null, violations_count: null }))],
      });
      expect(ran.code).to.equal(0);
      expect(ran.stderr).to.include('warming').and.not.include('sent a response');
    });

    it('continues to poll in an unknown phase', async () => {
      const now = (status: string): Answering => replies(202, result({ status, score: null, passed: null, violations_count: null }));
      const ran = await against({
        [SUBMIT]: [accepts],
        [EVENTS]: [streams()],
        [POLL]: [now('warming'), now('warming'), now('cooling'), now('scanning'), replies(200, result())],
      });
      expect(ran.code).to.equal(0);
      expect(ran.stderr).to.match(/cooling\n[^]*scanning\n/);
    });

    it('reopens a broken stream with Last-Event-ID and shows no step twice', async () => {
      const ran = await against({
        [SUBMIT]: [accepts],
        [EVENTS]: [
          streams(progress(1, 'crawling', 0, 4), progress(2, 'scanning', 2, 4)),
          streams(': keepalive\n\n', progress(3, 'scanning', 4, 4), complete(4)),
        ],
      });
      expect(ran.code).to.equal(0);
      const ids = service!.of('GET', /events$/).map(({ headers }) => headers['last-event-id']);
      expect(ids).to.deep.equal([undefined, '2']);
      expect(service!.of('GET', `/v1/ci/scans/${SCAN_ID}`)).to.have.length(0);
      expect(ran.stderr.match(/crawling/g)).to.have.length(1);
    });

    it('polls at the interval of Retry-After if streams send no events', async () => {
      const now = (status: string): Answering =>
        replies(202, result({ status, score: null, passed: null, violations_count: null }), { 'Retry-After': '6' });
      const ran = await against({
        [SUBMIT]: [accepts],
        [EVENTS]: [streams()],
        [POLL]: [
          now('queued'),
          now('queued'),
          now('scanning'),
          now('generating'),
          replies(422, result({ passed: false, message: 'It did not.' })),
        ],
      });
      expect(ran.code).to.equal(1);
      expect(ran.stderr).to.include('The event stream sends no events; polling instead.');
      expect(ran.stderr).to.match(/queued\n[^]*scanning\n[^]*generating\n/);
      expect(ran.slept).to.include(6000);
      expect(service!.of('GET', /events$/)).to.have.length(3);
    });

    it('continues if the service restarts', async () => {
      const down = replies(503, { detail: 'service_unavailable', message: 'Down.' }, { 'Retry-After': '5' });
      const ran = await against({
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(progress(1, 'scanning', 1, 4)), down, streams(complete(9))],
        [POLL]: [down, replies(202, result({ status: 'scanning', score: null, passed: null, violations_count: null }))],
      });
      expect(ran.code).to.equal(0);
      expect(ran.stderr).to.include('A part of the service is down, nothing was charged; retrying in 5 s.');
    });

    it('stops if the key is revoked: exit code 2', async () => {
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [replies(401, { detail: 'invalid_api_key', message: 'No.' })] });
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include('was not accepted (401)');
    });

    it('gives up after --max-wait and prints how to resume: exit code 2', async () => {
      const down = replies(503, { detail: 'service_unavailable', message: 'Down.' }, { 'Retry-After': '5' });
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [down], [POLL]: [down] }, ['--max-wait', '12']);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include(`curbcut follow ${SCAN_ID}`);
    });

    it('stops when interrupted and prints how to resume: exit code 130', async () => {
      const interrupt = new AbortController();
      const opens: Answering = (_, response) => {
        stream(response, [progress(1, 'scanning', 1, 4)], false);
        setImmediate(() => interrupt.abort('SIGINT'));
      };
      const ran = await against({ [SUBMIT]: [accepts], [EVENTS]: [opens] }, [], { interrupt });
      expect(ran.code).to.equal(130);
      expect(ran.stderr).to.match(new RegExp(`Interrupted. The scan continues. To follow it again: curbcut follow ${SCAN_ID}\n$`));
    });

    it('reports that there are not enough credits for all pages', async () => {
      const ran = await against({ [SUBMIT]: [replies(202, { ...accepted, pages_reserved: 2 })], [EVENTS]: [streams(complete(2))] }, [
        '--partial',
      ]);
      expect(ran.stderr).to.include('There are only enough credits for 2 of 5 pages.');
    });
  });

  describe('reports', () => {
    let folder: string;
    before(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-cli-'))));
    after(() => rm(folder, { recursive: true }));
    const PDF = `GET /v1/scans/${SCAN_ID}/report`;
    const JSON_EXPORT = `GET /v1/scans/${SCAN_ID}/report/json`;
    const link =
      (path: string): Answering =>
      () => ({ status: 200, body: { url: `${service!.url}${path}`, expires_in: 3600 } });

    it('are saved to files, without sending the API key to the object store', async () => {
      const ran = await against(
        {
          [SUBMIT]: [accepts],
          [EVENTS]: [streams(complete(2))],
          [PDF]: [link('/objects/a.pdf')],
          [JSON_EXPORT]: [link('/objects/a.json')],
          'GET /objects/a.pdf': [replies(200, Buffer.from('%PDF-1.7'))],
          'GET /objects/a.json': [replies(200, '{"schema_version":1}')],
        },
        ['--pdf', join(folder, 'a.pdf'), '--export', join(folder, 'a.json')],
      );
      expect(ran.code).to.equal(0);
      expect(await readFile(join(folder, 'a.pdf'), 'utf8')).to.equal('%PDF-1.7');
      expect(await readFile(join(folder, 'a.json'), 'utf8')).to.equal('{"schema_version":1}');
      expect(ran.stdout).to.include(`Saved       ${join(folder, 'a.pdf')}, ${join(folder, 'a.json')}`);
      for (const seen of service!.of('GET', /objects/)) expect(seen.headers).to.not.have.property('x-api-key');
    });

    it('are downloaded with a new link if the first has expired', async () => {
      const ran = await against(
        {
          [SUBMIT]: [accepts],
          [EVENTS]: [streams(complete(2))],
          [PDF]: [link('/objects/b.pdf')],
          'GET /objects/b.pdf': [replies(403, '<Error/>'), replies(200, '%PDF')],
        },
        ['--pdf', join(folder, 'b.pdf')],
      );
      expect(ran.code).to.equal(0);
      expect(service!.of('GET', /report$/)).to.have.length(2);
    });

    it('are reported after the verdict if they cannot be saved: exit code 2', async () => {
      const ran = await against(
        {
          [SUBMIT]: [accepts],
          [EVENTS]: [streams(complete(2))],
          [PDF]: [link('/objects/c.pdf')],
          'GET /objects/c.pdf': [replies(500, '')],
        },
        ['--pdf', join(folder, 'c.pdf')],
      );
      expect(ran.code).to.equal(2);
      expect(ran.stdout).to.include('✓ passed').and.not.include('Saved');
      expect(ran.stderr).to.include(`curbcut follow ${SCAN_ID} --pdf ${join(folder, 'c.pdf')}`);
      expect((await readdir(folder)).filter((name) => name.startsWith('c.'))).to.deep.equal([]);
    });

    it('are not requested and nothing is submitted if the folder does not exist: exit code 2', async () => {
      const ran = await against({ [SUBMIT]: [accepts] }, ['--pdf', join(folder, 'nowhere', 'a.pdf')]);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include('does not exist or is not writable');
      expect(service!.requests).to.have.length(0);
    });
  });
});
