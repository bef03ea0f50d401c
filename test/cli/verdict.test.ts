/** What `curbcut scan` prints after a verdict: why, what to fix first, and where the report is. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Report } from '../../report/schema/report.ts';
import { largeReport, smallReport } from '../report/samples.ts';
import { accepts, complete, curbcut, EVENTS, POLL, replies, result, routes, SCAN_ID, startService, streams, SUBMIT, type Answering, type Output } from './service.ts'; // prettier-ignore

const EXPORT = `GET /v1/scans/${SCAN_ID}/report/json`;

/** Runs `curbcut scan` against a service that has the report. @param faults answers in place of those of the service */
async function scan(
  report: Report,
  args: string[] = [],
  { faults = {}, ...options }: Parameters<typeof curbcut>[1] & { faults?: Record<string, Answering[]> } = {},
) {
  const { counts, score } = report;
  const numbers = { score: score.value, violations_count: counts.total, ...report.scan.verdict };
  let url = '';
  const service = await startService(
    routes({
      [SUBMIT]: [accepts],
      [EVENTS]: [streams(complete(2, numbers))],
      [POLL]: [replies(200, result(numbers))],
      [EXPORT]: [() => ({ status: 200, body: { url, expires_in: 60 } })],
      'GET /object': [replies(200, report)],
      ...faults,
    }),
  );
  url = `${service.url}/object`;
  try {
    const ran = await curbcut(['scan', 'https://x.example/', ...args], { url: `${service.url}/`, ...options });
    return { ...ran, service: service.url, downloads: service.of('GET', '/object').length };
  } finally {
    await service.close();
  }
}

describe('curbcut scan: after the verdict', () => {
  it('says in one sentence why it did not pass, and what to fix first', async () => {
    const report = smallReport({ minScore: 50, failOnSeverity: 'critical' });
    const { code, stdout, service } = await scan(report);
    expect(code).to.equal(1);
    const text = stdout.replace(/\s+/g, ' ');
    expect(text)
      .to.match(/✗ did not pass ✗ \d+ critical violations, none allowed; the score of [\d.]+ meets the minimum of 50\. Coverage: /)
      .and.include('Fix these 2 root causes and the scan passes. - critical: Images must have alternative text (image-alt) ')
      .and.include('6 elements on 6 pages, such as on https://www.example.org/ header > a > .logo How to fix: ');
    expect(text).to.not.include('(color-contrast)');
    expect(stdout).to.include(`Open        ${service}/dashboard/scans/${SCAN_ID}\n`);
  });

  it('names five root causes of many, ten if they keep it from passing, in 80 columns', async () => {
    const report = largeReport(3, 40, true);
    const missed = await scan(report);
    report.scan.thresholds = smallReport({}).scan.thresholds;
    const { stdout } = await scan(report);
    expect(stdout).to.match(/Fix first: the worst 5 of \d+ root causes/);
    expect(stdout.match(/^ {2}- /gm)).to.have.length(5);
    expect(missed.stdout).to.match(/^The scan passes when \d+ root causes are fixed\. Fixing these 10 root causes is/m);
    expect(missed.stdout.match(/^ {2}- /gm)).to.have.length(10);
    // Addresses are not broken.
    const lines = (stdout + missed.stdout).split('\n');
    expect(lines.filter((line) => line.length > 80 && !/\S{70}/.test(line))).to.deep.equal([]);
  });

  it('with -o wide names the scan, its report, and the fingerprints of root causes', async () => {
    const report = smallReport();
    const { stdout, service } = await scan(report, ['-o', 'wide']);
    expect(stdout)
      .to.include(`Scan        ${SCAN_ID}\nReport      ${service}/v1/scans/${SCAN_ID}/report\n`)
      .and.include(`root cause ${report.groups[0]!.fingerprint}`);
  });

  it('names only what is new and not known, if no threshold was missed', async () => {
    const report = smallReport({});
    const [first, second] = report.groups as [Report['groups'][number], Report['groups'][number]];
    const groups = [{ ...first, known_elements: first.elements }, second];
    expect((await scan({ ...report, groups })).stdout)
      .to.include('Fix first: 1 root cause\n')
      .and.include(second.rule)
      .and.not.include(`(${first.rule})`);
    const numbers = { new: 0, on_new_pages: 0, fixed: 0, unchanged: 5, not_tested: 0 };
    const baseline = { scan_id: SCAN_ID, problem: null, optional: false, caveats: [], new_causes: [], fixed_causes: [], ...numbers };
    expect((await scan({ ...report, baseline })).stdout).to.not.include('Fix first');
  });

  it('downloads the export once, and not for data or --quiet', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    try {
      const file = join(folder, 'report.json');
      const saved = await scan(smallReport(), ['--export', file]);
      expect([saved.downloads, saved.stdout.includes('Fix these 3')]).to.deep.equal([1, true]);
      expect(JSON.parse(await readFile(file, 'utf8'))).to.have.property('groups');
    } finally {
      await rm(folder, { recursive: true });
    }
    for (const option of ['--json', '--quiet']) expect((await scan(smallReport(), [option])).downloads).to.equal(0);
  });

  describe('while the service is down', () => {
    const down = [replies(503, { detail: 'service_unavailable', message: 'Down.' })];
    /** @returns also what was printed when the command waited first */
    async function scanWith(faults: Record<string, Answering[]>, args: string[] = [], interrupt = new AbortController()) {
      let output!: Readonly<Output>;
      let early: string | undefined;
      const onSleep = (): void => {
        early ??= output.stdout;
      };
      const onStart = (started: Readonly<Output>): void => void (output = started);
      const report = smallReport({ failOnSeverity: 'critical' });
      const ran = await scan(report, args, { faults, interrupt, onSleep, onStart });
      return { ...ran, early, waited: ran.slept.reduce((sum, ms) => sum + ms, 0) / 1000 };
    }

    it('prints the verdict before it asks for the report, for which it waits 10 s', async () => {
      const { code, stdout, stderr, early, waited, service } = await scanWith({ [EXPORT]: down });
      expect([code, waited > 0, waited <= 10]).to.deep.equal([1, true, true]);
      expect(early).to.match(/Verdict +✗ did not pass\n$/);
      expect(stdout.slice(early!.length))
        .to.match(/^ +✗ There are /)
        .and.include(`Open        ${service}/dashboard`);
      expect(stderr).to.match(/What to fix first is not shown: A part of the service is down\.\n$/);
    });

    it('waits 10 s for the comparison, and as long as --max-wait for the data of programs', async () => {
      const down2 = { [POLL]: down, [EXPORT]: down };
      const text = await scanWith(down2);
      expect([text.code, text.waited > 10, text.waited <= 20]).to.deep.equal([1, true, true]);
      const data = await scanWith({ [POLL]: down }, ['--json', '--max-wait', '60']);
      expect([data.code, data.waited > 10, data.waited <= 60]).to.deep.equal([1, true, true]);
      expect((await scanWith(down2, ['--max-wait', '0'])).waited).to.equal(0);
    });

    it('says what it knows when it is interrupted: exit code 130', async () => {
      const interrupt = new AbortController();
      const hangs: Answering = () => interrupt.abort('SIGINT');
      const { code, stdout, stderr } = await scanWith({ [EXPORT]: [hangs] }, [], interrupt);
      expect(code).to.equal(130);
      expect(stdout)
        .to.match(/✗ did not pass\n +✗ There are /)
        .and.include('Open  ');
      expect(stderr).to.include('Interrupted.').and.not.include('does not understand');
    });
  });

  it('keeps the verdict and its message if the report cannot be read', async () => {
    const { code, stdout, stderr } = await scan({ ...smallReport(), pages: null } as unknown as Report);
    expect(code).to.equal(1);
    expect(stderr).to.include('What to fix first is not shown: this command does not understand the JSON export');
    expect(stdout)
      .to.include('✗ did not pass')
      .and.match(/✗ The score is|✗ There are/);
  });
});
