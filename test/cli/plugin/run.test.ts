/** `curbcut run schedule/NAME` on the embedded Kubernetes. The test plays the operator; test/journey runs the real one. */
import { expect } from 'chai';
import { RUN_ANNOTATION, SCHEDULE_LABEL, type ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import type { Output } from '../service.ts';
import { condition, DONE, SCANS, SCHEDULES, shows, useCluster } from './cluster.ts';

const spec = { url: 'https://shop.example/' };

describe('curbcut run', () => {
  const cluster = useCluster();
  beforeEach(() =>
    cluster.create(SCHEDULES, {
      kind: 'ScanSchedule',
      metadata: { name: 'nightly' },
      spec: { schedule: '0 3 * * *', scanTemplate: { spec } },
    }),
  );

  async function token(): Promise<string> {
    for (;;) {
      const { metadata } = await cluster.get<ScanSchedule>(SCHEDULES, 'nightly');
      const found = metadata.annotations?.[RUN_ANNOTATION];
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  /** Does what the operator does for a request. */
  async function operate(): Promise<void> {
    const requested = await token();
    const other = { name: 'nightly-28000000', labels: { [SCHEDULE_LABEL]: 'nightly' } };
    const own = { name: 'nightly-run-0a1b2c3d', labels: { [SCHEDULE_LABEL]: 'nightly' }, annotations: { [RUN_ANNOTATION]: requested } };
    for (const metadata of [other, own]) await cluster.create(SCANS, { kind: 'AccessibilityScan', metadata, spec });
    await cluster.setStatus(SCHEDULES, 'nightly', { lastRunRequest: requested });
  }

  for (const program of ['curbcut', 'kubectl curbcut'] as const)
    it(`prints the name of the scan: ${program}`, async () => {
      const running = cluster.plugin(['run', 'schedule/nightly', '--namespace', 'shop'], { program });
      await operate();
      expect(await running).to.include({ code: 0, stdout: 'nightly-run-0a1b2c3d\n', stderr: '' });
    });

  it('requests a new run each time', async () => {
    const first = cluster.plugin(['run', 'schedule/nightly', '-o', 'json']);
    await operate();
    const before = await token();
    expect(JSON.parse((await first).stdout)).to.include({ name: 'nightly-run-0a1b2c3d', status: 'queued' });
    const stop = new AbortController();
    const second = cluster.plugin(['run', 'scanschedule/nightly'], { interrupt: stop });
    while ((await token()) === before) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort('SIGINT');
    expect((await second).code).to.equal(130);
  });

  it('writes the metadata of the run to the schedule, in place of that of the last one', async () => {
    const annotations = async () => (await cluster.get<ScanSchedule>(SCHEDULES, 'nightly')).metadata.annotations;
    const first = cluster.plugin(['run', 'schedule/nightly', '--metadata', 'commit=a=1', '--metadata', 'team=web']);
    await operate();
    expect((await first).code).to.equal(0);
    const before = await token();
    expect(await annotations()).to.deep.equal({
      [RUN_ANNOTATION]: before,
      'metadata.curbcut.dev/commit': 'a=1',
      'metadata.curbcut.dev/team': 'web',
    });
    const stop = new AbortController();
    const second = cluster.plugin(['run', 'schedule/nightly', '--metadata', 'commit=b'], { interrupt: stop });
    while ((await token()) === before) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort('SIGINT');
    await second;
    expect(await annotations()).to.deep.equal({ [RUN_ANNOTATION]: await token(), 'metadata.curbcut.dev/commit': 'b' });
  });

  it('follows the scan with --wait, and exits by its verdict', async () => {
    const running = cluster.plugin(['run', 'schedule/nightly', '--wait']);
    await operate();
    await cluster.setStatus(SCANS, 'nightly-run-0a1b2c3d', {
      ...DONE,
      passed: false,
      message: 'The score is 64.2, below the minimum of 90.',
    });
    const ran = await running;
    expect(ran.code, ran.stderr).to.equal(1);
    expect(ran.stdout).to.include('✗ did not pass');
    expect(ran.stderr).to.include('AccessibilityScan shop/nightly-run-0a1b2c3d\n');
  });

  it('says why the schedule does not run, and gives up after --max-wait: exit code 2', async () => {
    let ahead = 0;
    const blocked = (message: string) => ({ conditions: [condition('Ready', 'False', 'OrganisationBlocked', message)] });
    let output: Readonly<Output> | undefined;
    const running = cluster.plugin(['run', 'schedule/nightly'], { ahead: () => ahead, onStart: (started) => (output = started) });
    await token();
    await cluster.setStatus(SCHEDULES, 'nightly', blocked('The organisation acme is blocked.'));
    await shows(output, 'The organisation acme is blocked.');
    ahead = 301_000;
    await cluster.setStatus(SCHEDULES, 'nightly', blocked('The organisation acme is still blocked.'));
    const ran = await running;
    expect(ran.code).to.equal(2);
    expect(ran.stderr)
      .to.match(/curbcut: The organisation acme is (still )?blocked\.\nGave up after/)
      .and.include('The run was requested and may start later.');
  });

  it('reports that somebody else requested a run meanwhile: exit code 2', async () => {
    const running = cluster.plugin(['run', 'schedule/nightly']);
    await token();
    await cluster.kubectl('annotate', 'scanschedule', 'nightly', `${RUN_ANNOTATION}=another`, '--overwrite');
    const ran = await running;
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('Somebody requested another run of nightly');
  });

  it('reports a schedule that does not exist, or is deleted meanwhile: exit code 2', async () => {
    const missing = await cluster.plugin(['run', 'schedule/none']);
    expect(missing).to.include({ code: 2, stderr: 'kubectl curbcut: kubectl: scanschedules.curbcut.dev "none" not found (NotFound)\n' });
    const running = cluster.plugin(['run', 'schedule/nightly']);
    await token();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await cluster.remove(SCHEDULES, 'nightly');
    const ran = await running;
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.match(/The ScanSchedule nightly was deleted|"nightly" not found/);
  });

  for (const argument of ['nightly', 'cronjob/nightly', 'schedule/', 'schedule/a/b'])
    it(`rejects ${argument}: exit code 2`, async () => {
      const ran = await cluster.plugin(['run', argument]);
      expect(ran).to.include({
        code: 2,
        stderr: `kubectl curbcut: ${argument} is not a schedule: write schedule/NAME.\nTry: kubectl curbcut run --help\n`,
      });
    });

  it('needs kubectl, also as curbcut: exit code 2', async () => {
    const ran = await cluster.plugin(['run', 'schedule/nightly'], { program: 'curbcut', environment: { PATH: cluster.folder } });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('There is no kubectl in PATH.\nInstall it');
  });
});
