/** Invalid submissions and the validation errors that they get. */
import { expect } from 'chai';
import { HIGH_LIMITS, useContext, SUBMISSION } from './context.ts';

const NO_SCAN = '00000000-0000-4000-8000-000000000000';

describe('an invalid submission', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  afterEach(async () => {
    context.faults.clear();
    await context.stores.queueStates.write({ paused: false, live: 0 });
  });

  const cases: [what: string, body: unknown, loc: (string | number)[], type: string][] = [
    ['no url', {}, ['body', 'url'], 'missing_field'],
    ['a url that cannot be parsed', { url: 'not a url' }, ['body', 'url'], 'string.uri'],
    ['a score below 0', { ...SUBMISSION, min_score: -0.1 }, ['body', 'min_score'], 'number.minimum'],
    ['a score above 100', { ...SUBMISSION, min_score: 100.1 }, ['body', 'min_score'], 'number.maximum'],
    ['a score as text', { ...SUBMISSION, min_score: '90' }, ['body', 'min_score'], 'type.number'],
    ['violations with a fraction', { ...SUBMISSION, max_violations: 1.5 }, ['body', 'max_violations'], 'type.integer'],
    ['an unknown severity', { ...SUBMISSION, fail_on_severity: 'fatal' }, ['body', 'fail_on_severity'], 'enum'],
    ['truncation as text', { ...SUBMISSION, fail_on_truncation: 'yes' }, ['body', 'fail_on_truncation'], 'type.boolean'],
    ['new violations without a baseline', { ...SUBMISSION, max_new_violations: 0 }, ['body', 'baseline'], 'baseline.invalid'],
    ['an unknown scan as baseline', { ...SUBMISSION, baseline: { scan: NO_SCAN } }, ['body', 'baseline'], 'baseline.not_found'],
    ['a glob that is no list', { ...SUBMISSION, exclude: '/a' }, ['body', 'exclude'], 'type.array'],
    ['too many globs', { ...SUBMISSION, exclude: Array(51).fill('/a') }, ['body', 'exclude'], 'array.max_items'],
    ['a step that does nothing', { ...SUBMISSION, prepare: [{}] }, ['body', 'prepare', 0], 'object.min_properties'],
    [
      'a step that does two things',
      { ...SUBMISSION, prepare: [{ goto: '/', click: 'a' }] },
      ['body', 'prepare', 0],
      'object.max_properties',
    ],
    ['a misspelt step', { ...SUBMISSION, prepare: [{ waitFor: 'a' }] }, ['body', 'prepare', 0, 'waitFor'], 'unexpected_field'],
    [
      'a step with a key of a Secret',
      { ...SUBMISSION, prepare: [{ fill: { selector: 'a', value: '', secretKey: 'password' } }] },
      ['body', 'prepare', 0, 'fill', 'secretKey'],
      'unexpected_field',
    ],
    [
      'a step to another site',
      { ...SUBMISSION, prepare: [{ click: 'a' }, { goto: 'https://example.org/' }] },
      ['body', 'prepare', 1, 'goto'],
      'prepare.other_site',
    ],
    ['a listed address with credentials', { ...SUBMISSION, urls: ['https://me:secret@example.com/'] }, ['body', 'urls', 0], 'urls.invalid'],
    ['an address of another host', { ...SUBMISSION, urls: ['/a', 'https://example.org/'] }, ['body', 'urls', 1], 'urls.other_host'],
    ['more addresses than pages', { url: SUBMISSION.url, max_pages: 1, urls: ['/a', '/b'] }, ['body', 'urls'], 'urls.too_many'],
    ['metadata with a number', { ...SUBMISSION, metadata: { pull_request: 7 } }, ['body', 'metadata', 'pull_request'], 'type.string'],
    ['too long metadata', { ...SUBMISSION, metadata: { branch: 'a'.repeat(257) } }, ['body', 'metadata', 'branch'], 'string.max_length'],
    ['a list', [SUBMISSION], ['body'], 'type.object'],
    ['another scheme', { url: 'ftp://example.com/' }, ['body', 'url'], 'url.scheme'],
    ['credentials', { url: 'https://user:pass@example.com/' }, ['body', 'url'], 'url.credentials'],
    ['a low port', { url: 'https://example.com:22/' }, ['body', 'url'], 'url.port'],
    ['a host name with a private address', { url: 'https://inside.example.com/' }, ['body', 'url'], 'url.private_address'],
    [
      'a further host with a private address',
      { ...SUBMISSION, hosts: ['*.example.com', 'inside.example.com'] },
      ['body', 'hosts', 1],
      'url.private_address',
    ],
    ['a further host with a scheme', { ...SUBMISSION, hosts: ['https://example.com'] }, ['body', 'hosts', 0], 'string.pattern'],
    ['all hosts of a top-level domain', { ...SUBMISSION, hosts: ['*.com'] }, ['body', 'hosts', 0], 'string.pattern'],
    ['an unresolvable host name', { url: 'https://unknown.example.com/' }, ['body', 'url'], 'url.unresolvable'],
  ];
  it('names no address of a host that the caller did not send', async () => {
    const { key } = await context.organisation({ credits: 5 });
    for (const host of ['inside.example.com', 'mixed.example.com']) {
      const { text } = await context.request('POST', '/v1/ci/scans', { key, body: { url: `https://${host}/` } });
      expect(text).to.include(`${host} resolves to a private, loopback or otherwise reserved address`);
      expect(text).to.not.match(/10\.1\.2\.3|192\.168\.0\.7/);
    }
  });

  for (const [what, body, loc, type] of cases) {
    it(`is rejected: ${what}`, async () => {
      const { id, key } = await context.organisation({ credits: 5 });
      const response = await context.request('POST', '/v1/ci/scans', { key, body });
      expect(response.status).to.equal(422);
      expect(response.body.detail).to.have.lengthOf(1);
      expect(response.body.detail[0]).to.deep.include({ loc, type });
      expect(response.body.detail[0].msg).to.match(/^\S.*\.$/);
      expect((await context.stores.credits.balance(id)).balance).to.equal(5);
    });
  }

  it('gets all of several errors at once', async () => {
    const { key } = await context.organisation();
    const body = { url: 'x', max_pages: 0, wcag_level: 'B', extra: 1, other: 2 };
    const { body: answer } = await context.request('POST', '/v1/ci/scans', { key, body });
    const locations = (answer.detail as { loc: string[] }[]).map(({ loc }) => loc.join('.')).sort();
    expect(locations).to.deep.equal(['body.extra', 'body.max_pages', 'body.other', 'body.url', 'body.wcag_level']);
  });

  it('gets at most fifty of thousands of errors', async () => {
    const { key } = await context.organisation();
    const body = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`field${index}`, 1]));
    expect((await context.request('POST', '/v1/ci/scans', { key, body })).body.detail).to.have.lengthOf(50);
  });

  for (const [what, raw] of [
    ['a body that is not JSON', '{"url": '],
    ['JSON that pollutes prototypes', '{"url": "https://example.com/", "__proto__": {"admin": true}}'],
  ] as const)
    it(`is rejected: ${what}`, async () => {
      const { key } = await context.organisation();
      const { status, body } = await context.request('POST', '/v1/ci/scans', { key, raw });
      expect(status).to.equal(422);
      expect(body.detail[0]).to.deep.include({ loc: ['body'], type: 'json.invalid' });
    });

  it('is rejected: no body', async () => {
    const { key } = await context.organisation();
    for (const headers of [{}, { 'Content-Type': 'application/json' }] as Record<string, string>[]) {
      const { status, body } = await context.request('POST', '/v1/ci/scans', { key, headers });
      expect(status).to.equal(422);
      expect(body.detail[0]).to.deep.include({ loc: ['body'], type: 'type.object' });
    }
  });
});
