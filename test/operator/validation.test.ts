/** What the API server refuses when an AccessibilityScan is applied or its status written, and what it says. */
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { THRESHOLD_NAMES } from '../../core/scan/thresholds.ts';
import { CRDS } from '../../local/stack.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { openCluster, type TestCluster } from '../runtime/cluster.ts';
import { REFUSED_RESOURCES } from '../support/refused-resources.ts';

const URL_SCHEME = 'url must begin with http:// or https://';
const URL_HOST = 'url must name a host and must not contain white space';
const NO_THRESHOLD = `thresholds must set at least one of ${THRESHOLD_NAMES.join(', ')}; remove it to scan without a verdict`;
const fixed = (name: string): string => `${name} cannot be changed; apply another AccessibilityScan`;

const SIGN_IN = { secretRef: { name: 'login' } };
const ONE_OF_STEPS = 'a step must have exactly one of goto, fill, click, waitFor, assert';

const ONE_BASELINE = 'baseline must have exactly one of scan, metadata, schedule';

/** Specs that are refused. A string is the message of a rule. */
const REFUSED: readonly [string, object, string | RegExp][] = [
  ['no URL', {}, /spec\.url: Required value/],
  ['a URL of another scheme', { url: 'ftp://example.com/' }, URL_SCHEME],
  [
    'a URL with a password',
    { url: 'https://jane:secret@example.com/' },
    'url must not contain a user name or password; use auth.secretRef',
  ],
  ['a URL without a host', { url: 'https:///page' }, URL_HOST],
  ['a URL with white space', { url: 'https://example.com/a b' }, URL_HOST],
  ['too many pages', { maxPages: 5001 }, /spec\.maxPages.* less than or equal to 5000/],
  ['an unknown WCAG level', { wcagLevel: 'B' }, /spec\.wcagLevel: Unsupported value: "B": supported values: "A", "AA", "AAA"/],
  ['thresholds without a value', { thresholds: {} }, NO_THRESHOLD],
  [
    'new violations without a baseline',
    { thresholds: { maxNewViolations: 0 } },
    'thresholds.maxNewViolations needs a baseline to compare with',
  ],
  ['a baseline of nothing', { baseline: { optional: true } }, ONE_BASELINE],
  ['a baseline of two', { baseline: { schedule: 'nightly', metadata: { branch: 'main' } } }, ONE_BASELINE],
  [
    'a site with a scheme',
    { baseline: { metadata: { branch: 'main' }, site: 'https://www.example.com' } },
    'site must be a host, such as www.example.com, without scheme and path',
  ],
  ['a site without metadata', { baseline: { schedule: 'nightly', site: 'example.com' } }, 'site is only used with metadata'],
  ['a check without a scan', { baseline: { schedule: 'nightly', check: {} } }, 'check is only used with scan'],
  ['a minimum score above 100', { thresholds: { minScore: 100.5 } }, /spec\.thresholds\.minScore.* less than or equal to 100/],
  ['a misspelt threshold', { thresholds: { minScor: 90 } }, /unknown field "spec\.thresholds\.minScor"/],
  ['a step that does nothing', { crawl: { prepare: [{}] } }, ONE_OF_STEPS],
  ['a step that does two things', { crawl: { prepare: [{ goto: '/', click: 'a' }] } }, ONE_OF_STEPS],
  ['a step that asserts nothing', { crawl: { prepare: [{ assert: {} }] } }, 'assert must have either selector or text'],
  ['an unknown locale', { locale: 'xx' }, /spec\.locale: Unsupported value: "xx"/],
  ['a queue that is not a name', { queue: 'Not A Name' }, /spec\.queue/],
  ['a priority above the maximum', { priority: 1001 }, /spec\.priority.* less than or equal to 1000/],
  ['a step of a sign-in that does nothing', { auth: { ...SIGN_IN, steps: [{}] } }, ONE_OF_STEPS],
  ['a step of a sign-in that does two things', { auth: { ...SIGN_IN, steps: [{ goto: '/', click: '#in' }] } }, ONE_OF_STEPS],
  [
    'a step that fills from a path',
    { auth: { ...SIGN_IN, steps: [{ fill: { selector: '#name', secretKey: '../scan.json' } }] } },
    /spec\.auth\.steps\[0\]\.fill\.secretKey/,
  ],
  ['an assertion of nothing', { auth: { ...SIGN_IN, steps: [{ assert: {} }] } }, 'assert must have either selector or text'],
  [
    'a marker that is a selector and a text',
    { auth: { ...SIGN_IN, marker: { selector: '#me', text: 'Sign out' } } },
    'marker must have either selector or text',
  ],
  [
    'a header for a page instead of an origin',
    { auth: { ...SIGN_IN, headers: [{ name: 'X-Token', secretKey: 'token', origin: 'https://example.com/api' }] } },
    /spec\.auth\.headers\[0\]\.origin/,
  ],
  ...REFUSED_RESOURCES,
];

const FULL = {
  url: 'https://example.com/',
  maxPages: 5,
  thresholds: { minScore: 90 },
  auth: { secretRef: { name: 'login' } },
  podTemplate: { resources: { limits: { memory: '1Gi' } } },
  ttlSecondsAfterFinished: 60,
};

/** Changes of a spec that are refused. Null removes a field. */
const UNCHANGEABLE: readonly [string, object, string][] = [
  ['url', { url: 'https://example.org/' }, fixed('url')],
  ['maxPages', { maxPages: 6 }, fixed('maxPages')],
  ['wcagLevel', { wcagLevel: 'A' }, fixed('wcagLevel')],
  ['httpFallback', { httpFallback: true }, fixed('httpFallback')],
  ['wcagVersion', { wcagVersion: '2.2' }, fixed('wcagVersion')],
  ['a threshold', { thresholds: { minScore: 10 } }, fixed('thresholds')],
  ['baseline', { baseline: { schedule: 'nightly' } }, fixed('baseline')],
  ['crawl', { crawl: { respectRobots: false } }, fixed('crawl')],
  ['locale', { locale: 'de' }, fixed('locale')],
  ['pictures', { pictures: false }, fixed('pictures')],
  ['advice', { advice: false }, fixed('advice')],
  ['states', { states: ['dark'] }, fixed('states')],
  ['parallelism', { parallelism: 2 }, fixed('parallelism')],
  ['class', { class: 'other' }, fixed('class')],
  ['queue', { queue: 'other' }, fixed('queue')],
  ['priority', { priority: 1 }, fixed('priority')],
  ['auth', { auth: { secretRef: { name: 'other' } } }, fixed('auth')],
  ['auth to none', { auth: null }, fixed('auth')],
  ['podTemplate', { podTemplate: { resources: { limits: { memory: '2Gi' } } } }, fixed('podTemplate')],
];

const CANCEL = 'cancel cannot be taken back; apply another AccessibilityScan';
const ENDED = { phase: 'done', organisation: 'acme', completionTime: '2026-03-02T10:00:00Z', passed: true };
const PHASE = 'phase cannot be changed after the scan has ended (done, failed, canceled)';

/** Changes of the status of an ended scan that are refused. */
const FINAL: readonly [string, object, string][] = [
  ['its phase to a live one', { phase: 'crawling' }, PHASE],
  ['the time of its end', { completionTime: '2026-03-03T10:00:00Z' }, 'completionTime cannot be changed'],
  ['the time of its end to none', { completionTime: null }, 'completionTime cannot be changed'],
  ['its organisation', { organisation: 'other' }, 'organisation cannot be changed'],
  ['its organisation to none', { organisation: null }, 'organisation cannot be changed'],
];

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  'x-kubernetes-validations'?: { message: string }[];
}

function messagesOf(schema: Schema): string[] {
  const below = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])];
  return [...(schema['x-kubernetes-validations'] ?? []).map(({ message }) => message), ...below.flatMap(messagesOf)];
}

describe('operator: an AccessibilityScan at the API server', () => {
  const contentType = 'application/merge-patch+json';
  let cluster: TestCluster;
  let namespace: string;
  before(async () => {
    cluster = await openCluster(CRDS);
    namespace = await cluster.namespace();
  });
  after(() => cluster.close());

  const create = (spec: object) =>
    cluster.connection.request<AccessibilityScan>('POST', cluster.connection.path(SCANS, namespace), {
      // As kubectl does.
      query: { fieldValidation: 'Strict' },
      body: { apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata: { name: `scan-${randomUUID()}` }, spec },
    });
  const pathOf = ({ metadata }: AccessibilityScan, subresource?: string) =>
    cluster.connection.path(SCANS, namespace, metadata.name, subresource);
  const read = (scan: AccessibilityScan) => cluster.connection.request<AccessibilityScan>('GET', pathOf(scan));
  const patch = (scan: AccessibilityScan, spec: object) =>
    cluster.connection.request<AccessibilityScan>('PATCH', pathOf(scan), { contentType, body: { spec } });
  const patchStatus = (scan: AccessibilityScan, status: object) =>
    cluster.connection.request<AccessibilityScan>('PATCH', pathOf(scan, 'status'), { contentType, body: { status } });

  async function expectRefusal(write: Promise<unknown>, message: string | RegExp): Promise<void> {
    const refusal: unknown = await write.then(
      () => expect.fail('it was accepted'),
      (error: unknown) => error,
    );
    if (typeof message === 'string') expect(String(refusal)).to.include(message);
    else expect(String(refusal)).to.match(message);
  }

  for (const [what, spec, message] of REFUSED)
    it(`is refused with ${what}`, () =>
      expectRefusal(create(what === 'no URL' ? spec : { url: 'https://example.com/', ...spec }), message));

  it('is accepted with a URL alone, and has defaults but no TTL', async () => {
    const scan = await read(await create({ url: 'HTTPS://example.com' }));
    expect(scan.spec).to.deep.equal({
      url: 'HTTPS://example.com',
      httpFallback: false,
      maxPages: 5,
      wcagLevel: 'AA',
      wcagVersion: '2.1',
      crawl: {
        include: [],
        exclude: [],
        hashRoutes: 'paths',
        hosts: [],
        rewriteHost: '',
        urls: [],
        sitemap: true,
        respectRobots: true,
        waitFor: '',
        settleMs: 0,
        consent: 'keep',
        prepare: [],
      },
      locale: 'en',
      pictures: true,
      advice: true,
      class: 'curbcut',
      queue: 'default',
      priority: 0,
    });
    expect(scan.status, 'so that tools do not take it for a scan that is ready').to.deep.equal({ observedGeneration: -1 });
  });

  it('is accepted with decimal thresholds', async () => {
    const { spec } = await create({ url: 'https://example.com/', thresholds: { minScore: 89.95, minCoverage: 0.5 } });
    expect(spec.thresholds).to.deep.equal({ minScore: 89.95, minCoverage: 0.5 });
  });

  it('is accepted with every part of a sign-in', async () => {
    const auth = {
      ...SIGN_IN,
      headers: [{ name: 'Authorization', secretKey: 'token', prefix: 'Bearer ', origin: 'https://api.example.com' }],
      cookies: [{ name: 'beta', secretKey: 'beta.flag' }],
      basic: { usernameKey: 'gate-name', passwordKey: 'gate-password' },
      steps: [
        { goto: '/login' },
        { fill: { selector: '#name', secretKey: 'username' } },
        { click: 'button[type=submit]' },
        { waitFor: '.account' },
        { assert: { text: 'Sign out' } },
      ],
      marker: { selector: '.account' },
    };
    expect((await create({ url: 'https://example.com/', auth })).spec.auth).to.deep.equal(auth);
  });

  it('is accepted with steps of every kind', async () => {
    const prepare = [
      { goto: '/start' },
      { fill: { selector: '#year', value: '' } },
      { click: 'button' },
      { waitFor: 'main' },
      { assert: { text: 'Welcome' } },
    ];
    const { spec } = await create({ url: 'https://example.com/', crawl: { prepare, consent: 'accept' } });
    expect(spec.crawl).to.deep.include({ prepare, consent: 'accept' });
  });

  for (const [what, change, message] of UNCHANGEABLE)
    it(`cannot change ${what}`, async () => expectRefusal(patch(await create(FULL), change), message));

  it('cannot get thresholds, a sign-in or a podTemplate afterwards', async () => {
    const scan = await create({ url: 'https://example.com/' });
    await expectRefusal(patch(scan, { thresholds: { minScore: 1 } }), fixed('thresholds'));
    await expectRefusal(patch(scan, { auth: FULL.auth }), fixed('auth'));
    await expectRefusal(patch(scan, { podTemplate: FULL.podTemplate }), fixed('podTemplate'));
  });

  it('can be canceled once and for all', async () => {
    const scan = await create(FULL);
    await patch(scan, { cancel: false });
    await patch(scan, { cancel: true });
    await expectRefusal(patch(scan, { cancel: false }), CANCEL);
    await expectRefusal(patch(scan, { cancel: null }), CANCEL);
  });

  it('can change and lose its TTL', async () => {
    const scan = await create(FULL);
    expect((await patch(scan, { ttlSecondsAfterFinished: 5 })).spec.ttlSecondsAfterFinished).to.equal(5);
    expect((await patch(scan, { ttlSecondsAfterFinished: null })).spec).to.not.have.property('ttlSecondsAfterFinished');
  });

  for (const [what, change, message] of FINAL)
    it(`that has ended cannot change ${what}`, async () => {
      const scan = await create({ url: 'https://example.com/' });
      await patchStatus(scan, ENDED);
      await expectRefusal(patchStatus(scan, change), message);
      expect((await read(scan)).status).to.include(ENDED);
    });

  it('that failed or was canceled is final too', async () => {
    for (const phase of ['failed', 'canceled']) {
      const scan = await create({ url: 'https://example.com/' });
      await patchStatus(scan, { ...ENDED, phase });
      await expectRefusal(patchStatus(scan, { phase: 'done' }), PHASE);
    }
  });

  it('that has ended can change the rest of its status', async () => {
    const scan = await create({ url: 'https://example.com/' });
    await patchStatus(scan, { phase: 'queued' });
    await patchStatus(scan, { phase: 'crawling' });
    await patchStatus(scan, ENDED);
    expect((await patchStatus(scan, { ...ENDED, observedGeneration: 2 })).status?.observedGeneration).to.equal(2);
  });

  it('has a case here for each rule of its definition', () => {
    const { spec } = parse(
      readFileSync(
        CRDS.find((path) => path.endsWith('accessibilityscans.yaml'))!,
        'utf8',
      ),
    ) as {
      spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
    };
    const tested = [...REFUSED, ...UNCHANGEABLE, ...FINAL].map(([, , message]) => message);
    const rules = messagesOf(spec.versions[0]!.schema.openAPIV3Schema);
    expect(rules.filter((message) => ![...tested, CANCEL].includes(message))).to.deep.equal([]);
  });
});
