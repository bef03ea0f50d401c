/** `kubectl curbcut list`, `cancel`, `report` and `queue`, and the plugin as kubectl finds it. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeLogin } from '../../../cli/login-file.ts';
import { ADMITTED, condition, DONE, QUEUES, SCANS, useCluster } from './cluster.ts';
import { KEY, replies, startService, type Service } from '../service.ts';

const URL_OF_SITE = 'https://shop.example/';
const WAITING = condition('Admitted', 'False', 'Queued', 'Waiting in the queue.');
const cells = (line: string | undefined): string[] => line?.split(/ {2,}/) ?? [];

describe('kubectl curbcut', () => {
  const cluster = useCluster();
  let service: Service | undefined;
  afterEach(async () => {
    await service?.close();
    service = undefined;
  });
  const create = async (name: string, status?: object, spec: object = {}): Promise<string> => {
    await cluster.create(SCANS, { kind: 'AccessibilityScan', metadata: { name }, spec: { url: URL_OF_SITE, ...spec } });
    if (status !== undefined) await cluster.setStatus(SCANS, name, status);
    return (await cluster.get<{ metadata: { uid: string } }>(SCANS, name)).metadata.uid;
  };
  /** Serves the API on this path only. */
  const serve = async (path: string, body: unknown): Promise<Record<string, string>> => {
    service = await startService((request, response) =>
      (request.path.split('?')[0] === path ? replies(200, body) : replies(404, { detail: 'report_not_found', message: 'No report.' }))(
        request,
        response,
      ),
    );
    return { CURBCUT_URL: service.url, CURBCUT_API_KEY: KEY };
  };

  describe('as a plugin', () => {
    it('is found by kubectl in PATH', async () => {
      const { stdout } = await cluster.kubectl('plugin', 'list');
      expect(stdout).to.match(/\/bin\/kubectl-curbcut\n/);
    });

    it('runs a command with the context of kubectl, and exits with its code', async () => {
      await create('shop', { ...DONE, passed: false, message: 'The score is 64.2, below the minimum of 90.' });
      const ran = await cluster.kubectl('curbcut', 'follow', 'shop', '-o', 'yaml');
      expect(ran.code, ran.stderr).to.equal(1);
      expect(ran.stdout).to.include('name: shop\n').and.include('passed: false\n');
    });

    it('lists its commands', async () => {
      const { stdout } = await cluster.kubectl('curbcut', '--help');
      for (const command of [
        'scan URL',
        'follow NAME',
        'cancel NAME',
        'list',
        'report NAME',
        'diff BEFORE AFTER',
        'queue',
        'run schedule/NAME',
      ])
        expect(stdout).to.include(`kubectl curbcut ${command}`);
    });
  });

  for (const command of ['scan', 'follow', 'cancel', 'list', 'report', 'diff', 'queue', 'run'])
    it(`prints help of ${command} with the exit codes`, async () => {
      const ran = await cluster.plugin([command, '--help']);
      expect(ran).to.include({ code: 0, stderr: '' });
      expect(ran.stdout)
        .to.match(/Exit codes/)
        .and.include(`kubectl curbcut ${command}`);
    });

  it('reports that kubectl is missing: exit code 2', async () => {
    const ran = await cluster.plugin(['list'], { environment: { PATH: cluster.folder } });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('There is no kubectl in PATH.');
  });

  const kubectlErrors: [string, string[], RegExp][] = [
    ['an unknown context', ['--context', 'none'], /^kubectl curbcut: kubectl: .*context.*none/],
    ['an unknown file', ['--kubeconfig', '/none'], /^kubectl curbcut: kubectl: .*\/none/],
  ];
  for (const [name, args, said] of kubectlErrors)
    it(`passes on what kubectl says about ${name}: exit code 2`, async () => {
      const ran = await cluster.plugin(['list', ...args]);
      expect(ran).to.deep.include({ code: 2, stdout: '', slept: [] });
      expect(ran.stderr).to.match(said).and.not.include('memcache');
    });

  describe('list', () => {
    it('prints the scans of the namespace, newest first', async () => {
      expect((await cluster.plugin(['list'])).stdout).to.equal('No scans.\n');
      await create('b', { phase: 'scanning', conditions: [ADMITTED] });
      await create('a', DONE);
      const { stdout } = await cluster.plugin(['list']);
      const lines = stdout.trimEnd().split('\n');
      expect(cells(lines[0])).to.deep.equal(['NAME', 'SUBMITTED', 'STATUS', 'SCORE', 'VIOLATIONS', 'VERDICT', 'URL']);
      const rows = lines.slice(1).map((line) => cells(line).filter((_, index) => index !== 1));
      expect(rows).to.have.deep.members([
        ['a', 'done', '97.5', '3', 'passed', URL_OF_SITE],
        ['b', 'scanning', '–', '–', '–', URL_OF_SITE],
      ]);
    });

    it('selects by status, limits, and prints data', async () => {
      await create('a', DONE);
      await create('b');
      await create('c');
      const data = async (...args: string[]): Promise<{ data: { name: string }[]; omitted: number }> =>
        JSON.parse((await cluster.plugin(['list', '-o', 'json', ...args])).stdout) as { data: { name: string }[]; omitted: number };
      expect((await data('--status', 'queued')).data.map(({ name }) => name)).to.have.members(['b', 'c']);
      const limited = await data('--limit', '2');
      expect(limited.data).to.have.length(2);
      expect(limited.omitted).to.equal(1);
      expect((await cluster.plugin(['list', '--limit', '2'])).stdout).to.include('There are 1 more: increase --limit.\n');
    });

    it('lists only scans with every given pair of metadata, with branch and commit', async () => {
      const scan = (name: string, annotations: Record<string, string>) =>
        cluster.create(SCANS, { kind: 'AccessibilityScan', metadata: { name, annotations }, spec: { url: URL_OF_SITE } });
      await scan('a', { 'metadata.curbcut.dev/branch': 'main', 'metadata.curbcut.dev/commit': '4f371ac9e97b254279b4' });
      await scan('b', { 'metadata.curbcut.dev/branch': 'main' });
      await scan('c', { branch: 'main' });
      const names = async (...pairs: string[]) => {
        const ran = await cluster.plugin(['list', ...pairs.flatMap((pair) => ['--metadata', pair]), '-o', 'json']);
        return (JSON.parse(ran.stdout) as { data: { name: string }[] }).data.map(({ name }) => name);
      };
      expect(await names('branch=main')).to.have.members(['a', 'b']);
      expect(await names('branch=main', 'commit=4f371ac9e97b254279b4')).to.deep.equal(['a']);
      const { stdout } = await cluster.plugin(['list', '--metadata', 'commit=4f371ac9e97b254279b4']);
      expect(cells(stdout.split('\n')[1]).slice(-2)).to.deep.equal(['main 4f371ac9', URL_OF_SITE]);
    });

    it('lists all namespaces with -A, with their names', async () => {
      await create('a');
      const { stdout } = await cluster.plugin(['list', '-A']);
      expect(cells(stdout.split('\n')[1]).slice(0, 2)).to.deep.equal(['shop', 'a']);
    });
  });

  describe('cancel', () => {
    it('sets spec.cancel, and says how to wait for the end', async () => {
      await create('a', { phase: 'scanning', conditions: [ADMITTED] });
      const ran = await cluster.plugin(['cancel', 'a']);
      expect(ran).to.include({ code: 0, stderr: '' });
      expect(ran.stdout).to.match(/^The scan is being canceled\..*\nTo wait for its end: kubectl curbcut follow a\n$/);
      expect((await cluster.get<{ spec: { cancel?: boolean } }>(SCANS, 'a')).spec.cancel).to.equal(true);
    });

    it('exits with 1 if the scan has ended, and with 0 if it was canceled before', async () => {
      await create('a', DONE);
      await create('b', { phase: 'canceled' });
      expect(await cluster.plugin(['cancel', 'a'])).to.include({
        code: 1,
        stdout: 'The scan has already ended (done); nothing was canceled.\n',
      });
      expect(await cluster.plugin(['cancel', 'b'])).to.include({ code: 0, stdout: 'The scan is canceled.\n' });
    });
  });

  describe('report', () => {
    const link = { url: 'https://objects.example/a', expires_in: 3600 };

    it("gets the reports of the resource's scan from the API", async () => {
      const uid = await create('a', DONE);
      const environment = await serve(`/v1/scans/${uid}/report/json`, link);
      const ran = await cluster.plugin(['report', 'a', '--max-wait', '0'], { environment });
      // The PDF is asked for first.
      expect(ran.stderr).to.equal('kubectl curbcut: No report. (404)\n');
      expect(service!.requests.map(({ path }) => path)).to.deep.equal([`/v1/scans/${uid}/report`]);
    });

    it('uses the ID that the API gave to its own resources', async () => {
      const id = '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b';
      const annotations = { 'curbcut.dev/scan-id': id };
      for (const [name, requested] of [
        [`scan-${id}`, id],
        ['forged', null],
      ] as const) {
        await cluster.create(SCANS, { kind: 'AccessibilityScan', metadata: { name, annotations }, spec: { url: URL_OF_SITE } });
        const { metadata } = await cluster.get<{ metadata: { uid: string } }>(SCANS, name);
        const environment = await serve('/', {});
        await cluster.plugin(['report', name], { environment });
        expect(service!.requests[0]!.path).to.equal(`/v1/scans/${requested ?? metadata.uid}/report`);
        await service!.close();
      }
    });

    it('takes the ID of a scan whose resource was deleted', async () => {
      const id = '00000000-0000-4000-8000-000000000001';
      const environment = await serve('/', {});
      await cluster.plugin(['report', id], { environment });
      expect(service!.requests[0]!.path).to.equal(`/v1/scans/${id}/report`);
    });

    it('reports an unknown name: exit code 2', async () => {
      const ran = await cluster.plugin(['report', 'none'], { environment: await serve('/', {}) });
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include('"none" not found (NotFound)').and.include('curbcut list');
    });

    it('says which variables to set, and how to reach the API: exit code 2', async () => {
      const ran = await cluster.plugin(['report', 'a']);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include('CURBCUT_URL is not set').and.include('kubectl -n curbcut port-forward service/curbcut 8080:80');
    });
  });

  describe('diff', () => {
    it("compares the resources' scans by their IDs", async () => {
      const uid = await create('a', DONE);
      await create('b', DONE);
      const environment = await serve('/', {});
      const ran = await cluster.plugin(['diff', 'a', 'a11y/b'], { environment });
      expect(ran).to.include({ code: 2, stderr: 'kubectl curbcut: No report. (404)\n' });
      expect(service!.requests.map(({ path }) => path)).to.deep.equal([`/v1/scans/${uid}/report/json`]);
    });

    it('reports an unknown name before it downloads anything: exit code 2', async () => {
      await create('a', DONE);
      const ran = await cluster.plugin(['diff', 'a', 'none'], { environment: await serve('/', {}) });
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include('"none" not found (NotFound)');
      expect(service!.requests).to.deep.equal([]);
    });
  });

  describe('queue', () => {
    const queue = async (): Promise<void> => {
      await cluster.create(QUEUES, { kind: 'ScanQueue', metadata: { name: 'default' }, spec: { paused: true, maxRunning: 4 } });
      await cluster.setStatus(QUEUES, 'default', { queued: 3, running: 2, oldestWaitSeconds: 7_505 });
    };

    it('prints the queues of all namespaces', async () => {
      expect((await cluster.plugin(['queue'])).stdout).to.equal('No queues.\n');
      await queue();
      const [heading, row] = (await cluster.plugin(['queue'])).stdout.split('\n');
      expect(cells(heading)).to.deep.equal(['NAMESPACE', 'NAME', 'PAUSED', 'RUNNING', 'MAX', 'WAITING', 'OLDEST WAIT']);
      expect(cells(row)).to.deep.equal(['shop', 'default', 'true', '2', '4', '3', '2h5m']);
      const ran = await cluster.plugin(['queue', '-o', 'json', '-n', 'shop']);
      expect(JSON.parse(ran.stdout)).to.deep.equal({
        data: [
          {
            namespace: 'shop',
            name: 'default',
            paused: true,
            running: 2,
            max_running: 4,
            max_running_per_organisation: null,
            waiting: 3,
            oldest_wait_seconds: 7505,
          },
        ],
      });
    });

    it('lists the scans that wait in a queue, oldest first, and says how to see their positions', async () => {
      await queue();
      await create('waits', { phase: 'queued', conditions: [WAITING], organisation: 'acme' }, { priority: 7 });
      await create('new');
      await create('starts', { phase: 'queued', conditions: [ADMITTED] });
      await create('runs', { phase: 'scanning', conditions: [ADMITTED] });
      await create('ended', DONE);
      await create('elsewhere', undefined, { queue: 'nightly' });
      const { stdout, code } = await cluster.plugin(['queue', 'default']);
      expect(code).to.equal(0);
      const lines = stdout.split('\n');
      expect(cells(lines[3])).to.deep.equal(['POSITION', 'NAMESPACE', 'NAME', 'ORGANISATION', 'PRIORITY', 'SUBMITTED']);
      expect([cells(lines[4]), cells(lines[5])].map((row) => row.slice(0, 5))).to.have.deep.members([
        ['–', 'shop', 'waits', 'acme', '7'],
        ['–', 'shop', 'new', '–', '0'],
      ]);
      expect(stdout).to.include('set CURBCUT_URL and CURBCUT_API_KEY to see the positions');
    });

    it("shows the positions that the API knows, of the organisation's own scans", async () => {
      await queue();
      const first = await create('b');
      const second = await create('a');
      await create('other');
      const result = (scan_id: string) => ({
        ...{ scan_id, status: 'queued', score: null, passed: null, message: null, url: URL_OF_SITE, submitted_at: '2026-03-02T10:00:00Z' },
        ...{
          violations_count: null,
          violations_critical: null,
          violations_serious: null,
          violations_moderate: null,
          violations_minor: null,
        },
      });
      const place = (position: number) => ({ queue: { name: 'default', position, waiting: 30 } });
      service = await startService((request, response) => {
        const id = request.path.slice('/v1/ci/scans/'.length);
        if (id === first) return replies(202, { ...result(first), ...place(3) })(request, response);
        if (id === second) return replies(202, { ...result(second), ...place(12) })(request, response);
        return replies(200, { data: [result(second), result(first)], next_cursor: null })(request, response);
      });
      const environment = { CURBCUT_URL: service.url, CURBCUT_API_KEY: KEY };
      const { stdout } = await cluster.plugin(['queue', 'default'], { environment });
      const rows = stdout.split('\n').slice(4, 7).map((line) => cells(line)); // prettier-ignore
      expect(rows.map(([position, , name]) => [position, name])).to.deep.equal([['3', 'b'], ['12', 'a'], ['–', 'other']]); // prettier-ignore
      expect(stdout).to.not.include('CURBCUT_URL');
      expect(service.requests).to.have.length(3);
    });

    it('asks no service of a stored login for positions', async () => {
      await queue();
      await create('waits');
      service = await startService(replies(500, null));
      const login = join(cluster.folder, 'config/curbcut/login.json');
      await writeLogin(login, { url: service.url, apiKey: KEY });
      for (const mode of [0o600, 0o644]) {
        await chmod(login, mode);
        const ran = await cluster.plugin(['queue', 'default'], { environment: { XDG_CONFIG_HOME: join(cluster.folder, 'config') } });
        expect(ran.code, ran.stderr).to.equal(0);
        expect(ran.stdout).to.include('set CURBCUT_URL and CURBCUT_API_KEY to see the positions');
      }
      expect(service.requests).to.deep.equal([]);
    });

    it('reports an unknown queue: exit code 2', async () => {
      const ran = await cluster.plugin(['queue', 'none']);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include('There is no ScanQueue none.');
    });
  });
});
