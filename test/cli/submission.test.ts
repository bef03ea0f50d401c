import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { KEY, complete, SUBMIT, EVENTS, accepts, streams, replies, serviceForTests, type Answering } from './service.ts';

const STEPS = join(import.meta.dirname, 'prepare.yaml');

describe('curbcut scan: submission', () => {
  const { service, scan } = serviceForTests();
  it('sends every option under its name in the API, with the API key and an idempotency key', async () => {
    await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] }, [
      ...'--min-score 90.5 --max-violations 0 --fail-on Serious --min-coverage 80 --max-pages 25 --wcag 2.2-aaa'.split(' '),
      ...'--include /docs/** --include /blog/* --exclude /docs/old/** --settle-ms 500 --consent reject --locale DE'.split(' '),
      ...'--host shop.x.example --host *.docs.x.example:8080 --rewrite-host www.x.example --hash-routes all'.split(' '),
      ...['--wait-for', 'main h1', '--prepare', STEPS, '--no-pictures', '--no-advice', '--partial', '--auth-secret', 'shop-login'],
    ]);
    const [submission] = service().of('POST', '/v1/ci/scans');
    expect(submission!.body).to.deep.equal({
      url: 'https://x.example/',
      min_score: 90.5,
      max_violations: 0,
      fail_on_severity: 'serious',
      min_coverage: 80,
      max_pages: 25,
      wcag_version: '2.2',
      wcag_level: 'AAA',
      include: ['/docs/**', '/blog/*'],
      exclude: ['/docs/old/**'],
      hosts: ['shop.x.example', '*.docs.x.example:8080'],
      rewrite_host: 'www.x.example',
      hash_routes: 'all',
      wait_for: 'main h1',
      settle_ms: 500,
      consent: 'reject',
      prepare: [{ click: 'button[lang=en]' }, { wait_for: 'main' }],
      locale: 'de',
      pictures: false,
      advice: false,
      auth: { secret: 'shop-login' },
      fail_on_truncation: false,
    });
    expect(submission!.headers).to.include({ 'x-api-key': KEY, 'idempotency-key': 'key-of-this-run', 'user-agent': 'curbcut/1.2.3' });
  });

  it('says what is wrong in a file of steps, and submits nothing: exit code 2', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    const file = join(folder, 'steps.yaml');
    try {
      for (const [text, message] of [
        ['click: a', 'The steps must be a list'],
        ['- click: [', 'The steps are not valid YAML'],
        ['- waitFor: ""', 'step 1 is not valid: /wait_for must not have fewer than 1 characters'],
        [Array(11).fill('- click: a').join('\n'), 'there are 11 steps, more than 10'],
      ] as const) {
        await writeFile(file, text);
        const ran = await scan({}, ['--prepare', file]);
        expect(ran.code, text).to.equal(2);
        expect(ran.stderr, text).to.include(`--prepare ${file}: ${message}`);
        expect(service().requests, text).to.deep.equal([]);
      }
      expect((await scan({}, ['--prepare', join(folder, 'none')])).stderr).to.include('the file cannot be read');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('says which host is not one, and submits nothing: exit code 2', async () => {
    for (const [flag, text] of [
      ['--host', 'https://shop.x.example/'],
      ['--host', '*'],
      ['--host', '*.example'],
      ['--rewrite-host', '*.x.example'],
    ] as const) {
      const ran = await scan({}, [flag, text]);
      expect(ran.stderr).to.include(`${flag} ${text} must be a host such as`);
      expect(ran.code, text).to.equal(2);
      expect(service().requests, text).to.deep.equal([]);
    }
  });

  it('sends the addresses of a file and as many pages, and refuses one of another host: exit code 2', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'urls-')), 'urls.csv');
    await writeFile(file, 'Page,Title\n/a,A\nhttps://x.example/b,B\n/a,again\n');
    await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] }, ['--urls', file]);
    expect(service().of('POST', '/v1/ci/scans')[0]!.body).to.include({ max_pages: 2 });
    expect(service().of('POST', '/v1/ci/scans')[0]!.body).to.deep.include({ urls: ['/a', 'https://x.example/b', '/a'] });
    for (const [text, why] of [
      ['/a\nhttps://y.example/', 'https://y.example/ is not on the host of the scan, x.example.'],
      ['\n', 'there is no address in it.'],
    ] as const) {
      await writeFile(file, text);
      const ran = await scan({}, ['--urls', file]);
      expect([ran.code, ran.stderr]).to.deep.include(2);
      expect(ran.stderr).to.include(why);
    }
  });

  describe('with metadata', () => {
    const CI = { GITLAB_CI: 'true', CI_COMMIT_SHA: 'c0ffee', CI_COMMIT_REF_NAME: 'main' };
    const answers = { [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] };
    const sent = () => (service().of('POST', '/v1/ci/scans')[0]!.body as { metadata?: unknown }).metadata;

    it('sends what is given beside the values of the CI system, which it overrides', async () => {
      await scan(answers, ['--metadata', 'branch=feature/a=b', '--metadata', 'team=web'], { variables: CI });
      expect(sent()).to.deep.equal({ commit: 'c0ffee', branch: 'feature/a=b', team: 'web' });
    });

    it('sends nothing of the CI system with --no-ci-metadata', async () => {
      await scan(answers, ['--no-ci-metadata'], { variables: CI });
      expect(sent()).to.equal(undefined);
    });

    it('says how to make the same request outside of the build, after one without an answer', async () => {
      const variables = { GITLAB_CI: 'true', CI_COMMIT_REF_NAME: "it's;a b", CI_PIPELINE_URL: 'https://gitlab.example/-/pipelines/7' };
      const unknown = replies(503, { detail: 'submission_unconfirmed', message: 'Unknown.' }, { 'Retry-After': '5' });
      const lost = await scan({ [SUBMIT]: [unknown] }, ['--max-wait', '1', '--metadata', 'team=web'], { variables });
      const [before] = service().of('POST', '/v1/ci/scans');
      const [options] = / --idempotency-key .*/.exec(lost.stderr)!;
      expect(options).to.equal(
        ` --idempotency-key key-of-this-run --no-ci-metadata --metadata 'branch=it'\\''s;a b' --metadata build_url=https://gitlab.example/-/pipelines/7`,
      );
      const words = execFileSync('bash', ['-c', `printf '%s\\n'${options}`])
        .toString()
        .trim()
        .split('\n');
      await scan(answers, ['--metadata', 'team=web', ...words]);
      const [again] = service().of('POST', '/v1/ci/scans');
      expect([again!.body, again!.headers['idempotency-key']]).to.deep.equal([before!.body, before!.headers['idempotency-key']]);
    });

    it('says what it leaves out of the values of the CI system', async () => {
      const ran = await scan(answers, [], { variables: { ...CI, CI_COMMIT_REF_NAME: 'b'.repeat(300) } });
      expect(ran.stderr).to.include('The metadata value of branch must have 1 to 256 characters. It is left out.');
      expect(sent()).to.deep.equal({ commit: 'c0ffee' });
    });

    const mistakes: [string[], string][] = [
      [['branch'], 'Metadata must be KEY=VALUE, such as branch=main, and not "branch".'],
      [Array.from({ length: 9 }, (_, index) => `k${index}=v`), 'and 11 are given. With --no-ci-metadata only those of --metadata count.'],
    ];
    for (const [pairs, message] of mistakes)
      it(`rejects ${pairs.join(' ').slice(0, 40)}, and submits nothing: exit code 2`, async () => {
        const ran = await scan(
          {},
          pairs.flatMap((pair) => ['--metadata', pair]),
          { variables: CI },
        );
        expect(ran.code).to.equal(2);
        expect(ran.stderr).to.include(message);
        expect(service().requests).to.deep.equal([]);
      });
  });

  it('retries with the same idempotency key if the connection breaks, so that nothing is charged twice', async () => {
    const breaks: Answering = (_, response) => void response.destroy();
    const ran = await scan({ [SUBMIT]: [breaks, breaks, accepts], [EVENTS]: [streams(complete(2))] }, ['--idempotency-key', 'build-7']);
    expect(ran.code).to.equal(0);
    const keys = service()
      .of('POST', '/v1/ci/scans')
      .map(({ headers }) => headers['idempotency-key']);
    expect(keys).to.deep.equal(['build-7', 'build-7', 'build-7']);
  });

  it('waits for the Retry-After of a 429 or 503, and reports it', async () => {
    const ran = await scan({
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

  it('does not say that nothing was charged if the service does not know, and says how to find out', async () => {
    const unknown = replies(503, { detail: 'submission_unconfirmed', message: 'Unknown.' }, { 'Retry-After': '5' });
    const ran = await scan({ [SUBMIT]: [unknown, unknown] }, ['--max-wait', '7', '--idempotency-key', 'build-7']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('A part of the service failed, the scan may have been accepted; retrying in 5 s.');
    expect(ran.stderr).to.include('It is unknown whether a scan was submitted.').and.include('--idempotency-key build-7');
    expect(ran.stderr).to.not.include('nothing was charged');
  });

  const refusals: [string, number, unknown, string[]][] = [
    ['a bad key', 401, { detail: 'invalid_api_key', message: 'Send a live API key.' }, ['was not accepted (401)', 'CURBCUT_API_KEY']],
    [
      'too few credits',
      402,
      { detail: 'insufficient_credits', message: 'Fewer.', balance: 3, pages_requested: 5 },
      ['5 pages were requested, 3 credits are available', '--partial'],
    ],
    [
      'a key without the scope',
      403,
      { detail: 'permission_denied', message: 'The API key lacks the scope scans:write; use a key that has it.' },
      ['lacks the scope scans:write', '(403)', 'CURBCUT_API_KEY'],
    ],
    [
      'an invalid field',
      422,
      {
        detail: [
          { loc: ['body', 'url'], msg: 'localhost is a private name.', type: 'url.private_address' },
          { loc: ['body', 'max_pages'], msg: 'max_pages must be at most 500.', type: 'number.maximum', bounds: { limit: 500 } },
          { loc: ['body', 'fail_on_severity'], msg: 'An error of tomorrow.', type: 'new' },
        ],
      },
      ['  The URL: localhost is a private name.', '  --max-pages must be at most 500.', '  --fail-on: An error of tomorrow.'],
    ],
    ['a web page instead of the API', 404, '<html></html>', ['There is no Curbcut service at http://127.0.0.1', 'CURBCUT_URL']],
    ['an unknown response', 202, { hello: 'world' }, ['does not understand (202)']],
    ['a payload that is too large', 413, { detail: 'payload_too_large', message: 'Too large.' }, ['413: Too large.']],
  ];
  for (const [name, status, body, said] of refusals)
    it(`explains ${name}: exit code 2`, async () => {
      const ran = await scan({ [SUBMIT]: [replies(status, body)] });
      expect(ran.code).to.equal(2);
      for (const text of said) expect(ran.stderr).to.include(text);
      expect(ran.stdout).to.equal('');
      expect(service().of('POST', '/v1/ci/scans')).to.have.length(1);
    });
});
