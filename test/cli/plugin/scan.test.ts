/** `kubectl curbcut scan` and `follow`, on the embedded Kubernetes with the real kubectl. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeLogin } from '../../../cli/login-file.ts';
import { KEY, replies, startService, type Output } from '../service.ts';
import { opened } from '../../support/opened.ts';
import { ADMITTED, condition, DONE, openCluster, SCANS, shows, type Cluster, useCluster } from './cluster.ts';

const URL_OF_SITE = 'https://shop.example/';

describe('kubectl curbcut scan', () => {
  const cluster = useCluster();

  /** Runs the command, and meanwhile plays the operator. */
  async function scan(
    args: string[],
    operate: (name: string, output: Readonly<Output>) => Promise<void>,
    options: Parameters<Cluster['plugin']>[1] = {},
  ) {
    let output!: Readonly<Output>;
    const running = cluster.plugin(['scan', URL_OF_SITE, ...args], { ...options, onStart: (started) => (output = started) });
    const early = running.then(({ code, stderr }) => Promise.reject(new Error(`it ended before there was a scan: ${code} ${stderr}`)));
    early.catch(() => {});
    const { metadata } = await Promise.race([cluster.scan(), early]);
    await operate(metadata.name, output);
    return { ran: await running, name: metadata.name };
  }
  const ends = (change: object) => (name: string) => cluster.setStatus(SCANS, name, { ...DONE, ...change });

  it('writes metadata, also of the CI system, to annotations', async () => {
    const environment = { GITLAB_CI: 'true', CI_COMMIT_SHA: 'c0ffee', CI_COMMIT_REF_NAME: 'main' };
    const running = cluster.plugin(['scan', URL_OF_SITE, '--metadata', 'branch=fix/a=b', '--metadata', 'team=ü'], { environment });
    const { metadata } = await cluster.scan();
    expect(metadata.annotations).to.include({
      'metadata.curbcut.dev/branch': 'fix/a=b',
      'metadata.curbcut.dev/team': 'ü',
      'metadata.curbcut.dev/commit': 'c0ffee',
    });
    await ends({})(metadata.name);
    expect((await running).code).to.equal(0);
  });

  it('creates an AccessibilityScan with the options, and exits with 0 if it passed', async () => {
    const options = ['--max-pages', '7', '--wcag', '2.2-AAA', '--min-score', '90', '--fail-on', 'serious', '--queue', 'nightly', '--priority=-3', '--include', '/docs/**', '--wait-for', '.ready', '--locale', 'fr', '--no-pictures', '--no-advice']; // prettier-ignore
    const running = cluster.plugin(['scan', URL_OF_SITE, ...options]);
    const created = await cluster.scan();
    expect(created.metadata.name).to.match(/^shop-example-[0-9a-f]{8}$/);
    expect(created.spec).to.deep.include({
      url: URL_OF_SITE,
      maxPages: 7,
      wcagVersion: '2.2',
      wcagLevel: 'AAA',
      thresholds: { minScore: 90, failOnSeverity: 'serious' },
      queue: 'nightly',
      priority: -3,
      locale: 'fr',
      pictures: false,
      advice: false,
      crawl: {
        include: ['/docs/**'],
        exclude: [],
        sitemap: true,
        respectRobots: true,
        waitFor: '.ready',
        settleMs: 0,
        consent: 'keep',
        prepare: [],
      },
    });
    await ends({})(created.metadata.name);
    const ran = await running;
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stdout).to.match(
      /Score +97\.5 of 100\nViolations +3\n +critical +0\n +serious +1\n +moderate +2\n +minor +0\nVerdict +✓ passed\n$/,
    );
    expect(ran.stderr).to.include(`AccessibilityScan shop/${created.metadata.name}\n`);
  });

  it('shows the comparison with the baseline, as the service does', async () => {
    const scanId = '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b';
    const difference = { new: 2, newKnown: 1, onNewPages: 0, fixed: 4, unchanged: 1, notTested: 3 };
    const known = {
      score: '99',
      violations: { total: 2, critical: 0, serious: 0, moderate: 2, minor: 0 },
      matched: 1,
      unmatched: 0,
      ending: 1,
    };
    const status = { baseline: { scanId, optional: false, difference }, known };
    const gate = ['--baseline', 'branch=main', '--max-new-violations', '0'];
    const { ran } = await scan(gate, ends(status));
    expect(ran.stdout).to.include('2 new (1 known), 4 fixed, 1 unchanged, 3 on pages not tested');
    await cluster.empty();
    const printed = await scan([...gate, '--json'], ends(status));
    expect(JSON.parse(printed.ran.stdout)).to.deep.include({
      baseline: { scan_id: scanId, problem: null, new: 2, new_known: 1, on_new_pages: 0, fixed: 4, unchanged: 1, not_tested: 3 },
      known_issues: { matched: 1, unmatched: 0, ending: 1 },
      url: URL_OF_SITE,
    });
  });

  it('states only the options that were given, so that the definition sets the defaults', async () => {
    const { ran } = await scan(['--name', 'plain'], async (name) => {
      const { spec } = await cluster.scan();
      expect(spec).to.not.have.any.keys('thresholds', 'partial');
      expect(spec.maxPages).to.equal(5);
      await ends({ passed: null })(name);
    });
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stdout).to.include('no thresholds were set');
  });

  it('shows the progress', async () => {
    const pages = { requested: 5, reserved: 5, scanned: 3, failed: 0 };
    const { ran } = await scan([], async (name, output) => {
      await cluster.setStatus(SCANS, name, { phase: 'scanning', pages, conditions: [ADMITTED] });
      await shows(output, 'scanning');
      await ends({})(name);
    });
    expect(ran.stderr).to.include('scanning 3 of 5 pages\n');
  });

  const exits: [string, object, number, string][] = [
    ['missed a threshold', { passed: false, message: 'The score is 64.2, below the minimum of 90.' }, 1, '✗ The score is 64.2'],
    [
      'failed with thresholds',
      { phase: 'failed', passed: false, message: 'The site is down.' },
      1,
      'the scan failed, so it did not pass\n  The site is down.',
    ],
    ['failed without thresholds', { phase: 'failed', passed: null, message: 'The site is down.' }, 2, 'The site is down.'],
    ['was canceled without thresholds', { phase: 'canceled', passed: null }, 2, 'the scan was canceled'],
  ];
  for (const [name, change, code, said] of exits)
    it(`exits with ${code} if the scan ${name}`, async () => {
      const { ran } = await scan([], ends(change));
      expect(ran.code, ran.stderr).to.equal(code);
      expect(ran.stdout).to.include(said);
    });

  it('prints the result as JSON with the fields of the API and the names of the resource', async () => {
    const { ran, name } = await scan(['-o', 'json'], ends({}));
    expect(ran.stderr).to.equal('');
    const { metadata } = await cluster.scan();
    expect(JSON.parse(ran.stdout)).to.deep.equal({
      scan_id: metadata.uid,
      namespace: 'shop',
      name,
      url: URL_OF_SITE,
      submitted_at: metadata.creationTimestamp,
      metadata: {},
      queue_name: 'default',
      status: 'done',
      score: 97.5,
      violations_count: 3,
      violations_critical: 0,
      violations_serious: 1,
      violations_moderate: 2,
      violations_minor: 0,
      score_without_known: 97.5,
      violations_new_or_open: 3,
      passed: true,
      report_url: null,
      message: null,
      baseline: null,
      known_issues: null,
    });
  });

  it('creates the scan in the namespace of -n, which may stand before the command', async () => {
    const ran = await cluster.plugin(['-n', 'nowhere', 'scan', URL_OF_SITE]);
    expect(ran).to.deep.include({ code: 2, stdout: '' });
    expect(ran.stderr).to.equal('kubectl curbcut: kubectl: namespaces "nowhere" not found (NotFound)\n');
  });

  it('shows what the definition rejects: exit code 2', async () => {
    const ran = await cluster.plugin(['scan', 'ftp://shop.example', '--max-pages', '0', '--priority', '5000']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('url must begin with http:// or https://').and.include('spec.maxPages').and.include('spec.priority');
  });

  it('rejects a name that is taken: exit code 2', async () => {
    await cluster.create(SCANS, { kind: 'AccessibilityScan', metadata: { name: 'taken' }, spec: { url: URL_OF_SITE } });
    const ran = await cluster.plugin(['scan', URL_OF_SITE, '--name', 'taken']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('There is already an AccessibilityScan taken in the namespace shop').and.include('--name');
  });

  for (const [option, said] of [
    ['--partial', '--partial is an option of'],
    ['--idempotency-key=a', 'a --name is used once'],
    ['--priority=high', '--priority high is not a whole number'],
  ] as const)
    // prettier-ignore
    it(`rejects ${option}: exit code 2`, async () => {
      const ran = await cluster.plugin(['scan', URL_OF_SITE, option]);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include(said).and.include('Try: kubectl curbcut scan --help');
    });

  it('needs no service, and names none of a stored login', async () => {
    const service = await startService(replies(500, null));
    const login = join(cluster.folder, 'config/curbcut/login.json');
    const environment = { XDG_CONFIG_HOME: join(cluster.folder, 'config') };
    try {
      await writeLogin(login, { url: service.url, apiKey: KEY });
      for (const mode of [0o600, 0o644]) {
        await chmod(login, mode);
        const { ran } = await scan([], ends({ passed: false, message: 'No.' }), { environment });
        expect(ran).to.include({ code: 1 });
        expect(ran.stdout).to.include('did not pass').and.not.include(service.url);
        await cluster.empty();
      }
      expect(service.requests).to.deep.equal([]);
    } finally {
      await service.close();
    }
  });

  it('says what is missing for reports, before it creates a scan: exit code 2', async () => {
    const ran = await cluster.plugin(['scan', URL_OF_SITE, '--pdf', 'a.pdf']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('CURBCUT_URL is not set').and.include('CURBCUT_API_KEY is not set').and.include('port-forward');
    const { stdout } = await cluster.kubectl('get', 'a11y', '-o', 'name');
    expect(stdout).to.equal('');
  });

  it('says how to go on when it is interrupted, with the options of kubectl: exit code 130', async () => {
    const interrupt = new AbortController();
    const running = cluster.plugin(['scan', URL_OF_SITE, '-n', 'shop', '--name', 'long'], { interrupt });
    await cluster.scan();
    await cluster.setStatus(SCANS, 'long', {
      phase: 'queued',
      conditions: [condition('Admitted', 'False', 'Queued', 'Waiting in the queue.')],
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    interrupt.abort('SIGINT');
    const ran = await running;
    expect(ran.code).to.equal(130);
    expect(ran.stderr).to.match(
      /Interrupted\.\nThis command did not cancel the scan\.\nTo follow it again: kubectl curbcut follow long --namespace=shop\nTo cancel it: kubectl curbcut cancel long --namespace=shop\n$/,
    );
  });

  it('reports a scan that is deleted while it runs: exit code 2', async () => {
    const { ran } = await scan(['--name', 'gone'], async (name, output) => {
      await cluster.setStatus(SCANS, name, { phase: 'scanning', conditions: [ADMITTED] });
      await shows(output, 'scanning');
      await cluster.remove(SCANS, name);
    });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.match(
      /The AccessibilityScan gone was deleted before it ended, which cancels the scan\.\nIts result is kept: curbcut follow [0-9a-f-]{36}\n$/,
    );
  });

  it('continues when the API server is restarted while it follows', async () => {
    const { ran } = await scan([], async (name, output) => {
      await cluster.setStatus(SCANS, name, { phase: 'scanning', conditions: [ADMITTED] });
      await shows(output, 'scanning');
      await cluster.restart();
      await ends({})(name);
    });
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stdout).to.include('✓ passed');
  });

  it('gives up after --max-wait if the scan is held back, and says how to go on: exit code 2', async () => {
    const paused = (message: string) => condition('Admitted', 'False', 'QueuePaused', message);
    let ahead = 0;
    const { ran } = await scan(
      ['--name', 'held'],
      async (name, output) => {
        await cluster.setStatus(SCANS, name, { phase: 'queued', conditions: [paused('The queue is paused.')] });
        await shows(output, 'The queue is paused.');
        ahead = 301_000;
        await cluster.setStatus(SCANS, name, { conditions: [paused('The queue is still paused.')] });
      },
      { ahead: () => ahead },
    );
    expect(ran.code).to.equal(2);
    expect(ran.stderr)
      .to.match(/curbcut: The queue is (still )?paused\.\nGave up after/)
      .and.include('kubectl curbcut cancel held');
  });

  it('does not limit the time in the queue', async () => {
    const queued = (message: string) => condition('Admitted', 'False', 'Queued', message);
    let ahead = 0;
    const { ran } = await scan(
      [],
      async (name) => {
        await cluster.setStatus(SCANS, name, { phase: 'queued', conditions: [queued('Waiting in the queue.')] });
        await new Promise((resolve) => setTimeout(resolve, 500));
        ahead = 3_600_000;
        await cluster.setStatus(SCANS, name, { conditions: [queued('Still waiting in the queue.')] });
        await ends({})(name);
      },
      { ahead: () => ahead },
    );
    expect(ran.code, ran.stderr).to.equal(0);
  });

  it('gives up after --max-wait if no operator acts on the scan: exit code 2', async () => {
    let ahead = 0;
    const { ran } = await scan(
      [],
      async (name) => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        // Each change is an event, at which the command looks at its clock.
        for (ahead of [60_000, 361_000]) {
          expect((await cluster.kubectl('label', 'a11y', name, `at=${ahead}`, '--overwrite')).code).to.equal(0);
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
      },
      { ahead: () => ahead },
    );
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('No operator has acted on the scan yet');
  });

  it('gives up after --max-wait if the API server is down: exit code 2', async () => {
    let ran: Awaited<ReturnType<Cluster['plugin']>> | undefined;
    await cluster.restart(async () => {
      ran = await cluster.plugin(['follow', 'a', '--max-wait', '2']);
    });
    expect(ran!.code).to.equal(2);
    expect(ran!.stderr)
      .to.match(/kubectl: The connection to the server \S+ was refused.*; retrying in 0\.5 s/)
      .and.include('Gave up after');
    expect(ran!.slept.length).to.be.greaterThan(0);
  });
});

describe('kubectl curbcut follow', () => {
  const cluster = opened(() => openCluster());
  before(async () => {
    await cluster.create(SCANS, { kind: 'AccessibilityScan', metadata: { name: 'shop' }, spec: { url: URL_OF_SITE } });
    await cluster.setStatus(SCANS, 'shop', DONE);
  });

  for (const name of ['shop', 'a11y/shop', 'accessibilityscan/shop'])
    it(`prints the result of a completed scan at once: ${name}`, async () => {
      const ran = await cluster.plugin(['follow', name]);
      expect(ran.code, ran.stderr).to.equal(0);
      expect(ran.stdout).to.include('✓ passed');
    });

  it('reports an unknown scan in one sentence: exit code 2', async () => {
    expect(await cluster.plugin(['follow', 'none'])).to.deep.include({
      code: 2,
      stdout: '',
      stderr: 'kubectl curbcut: kubectl: accessibilityscans.curbcut.dev "none" not found (NotFound)\n',
    });
  });

  it('rejects another kind: exit code 2', async () => {
    const ran = await cluster.plugin(['follow', 'pod/shop']);
    expect(ran).to.deep.include({ code: 2, stderr: 'kubectl curbcut: pod/shop is not the name of a scan.\nTry: kubectl curbcut --help\n' });
  });
});
