import { expect } from 'chai';
import { SCAN_ID, complete, progress, result, SUBMIT, EVENTS, POLL, accepts, streams, replies, serviceForTests } from './service.ts';

describe('curbcut scan: result', () => {
  const { scan, service } = serviceForTests();
  it('exits with 0 if the scan passed, and prints score, severities and verdict', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(progress(1, 'scanning', 2, 5), complete(2))] });
    expect(ran.code).to.equal(0);
    expect(ran.stdout).to.match(
      /Score +97\.5 of 100\nViolations +3\n +critical +0\n +serious +1\n +moderate +2\n +minor +0\nVerdict +✓ passed\nOpen +http:\S+\n$/,
    );
    expect(ran.stderr).to.include(`Scan ${SCAN_ID}`).and.to.include('scanning 2 of 5 pages');
  });

  it('exits with 1 if the scan did not pass, and prints a line for each missed threshold', async () => {
    const message = 'The score is 64.2, below the minimum of 90. There are 12 violations, more than the 0 allowed.';
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed: false, message, score: 64.2 }))] });
    expect(ran.code).to.equal(1);
    expect(ran.stdout).to.include(
      '✗ did not pass\n  ✗ The score is 64.2, below the minimum of 90.\n  ✗ There are 12 violations, more than the 0 allowed.\n',
    );
  });

  const coverage = 'Coverage: 80% (4 of 5 pages could be tested).';
  const coverages: [string, Record<string, unknown>, string][] = [
    ['passed', { message: coverage }, `✓ passed\n  ${coverage}\n`],
    [
      'missed another threshold',
      { passed: false, message: `The score is 64.2, below the minimum of 90. ${coverage}` },
      `✗ did not pass\n  ✗ The score is 64.2, below the minimum of 90.\n  ${coverage}\n`,
    ],
    [
      'missed the coverage',
      { passed: false, message: 'The coverage is 40%, below the minimum of 50%: 2 of 5 pages could be tested.' },
      '  ✗ The coverage is 40%, below the minimum of 50%: 2 of 5 pages could be tested.\n',
    ],
  ];
  for (const [name, change, said] of coverages)
    it(`prints the coverage of a scan that ${name}`, async () => {
      const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, change))] });
      expect(ran.stdout).to.include(said);
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
      const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, change))] });
      expect(ran.code).to.equal(code);
      if (typeof change.message === 'string') expect(ran.stdout).to.include(change.message);
    });

  it('prints only JSON with --json', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(progress(1, 'scanning', 2, 5), complete(2))] }, ['--json']);
    const { report_url: _report, url: _url, ...rest } = result();
    expect(JSON.parse(ran.stdout)).to.deep.equal(rest);
    expect(ran.stderr).to.equal('');
  });

  it('reads the comparison and the addresses that the last event of the stream does not have', async () => {
    const baseline = { scan_id: SCAN_ID, problem: null, new: 1, new_known: 0, on_new_pages: 0, fixed: 2, unchanged: 3, not_tested: 0 };
    const answers = () => ({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))], [POLL]: [replies(200, result({ baseline }))] });
    expect((await scan(answers())).stdout).to.include('1 new, 2 fixed, 3 unchanged');
    expect(JSON.parse((await scan(answers(), ['--json'])).stdout)).to.deep.equal(result({ baseline }));
    const quiet = await scan(answers(), ['--quiet']);
    expect([quiet.code, service().of('GET', POLL.slice(4)).length]).to.deep.equal([0, 0]);
  });

  it('says what people decided, and what is known only if something is', async () => {
    const answer = async (change: Record<string, unknown>) => {
      const known = { violations_new_or_open: 3, score_without_known: 97.5, known_issues: { matched: 2, unmatched: 1, ending: 0 } };
      const poll = replies(200, result({ ...known, score_without_decisions: 97.5, ...change }));
      return (await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))], [POLL]: [poll] })).stdout;
    };
    const notes = ' {12}known issues and decisions: 1 matched nothing';
    expect(await answer({}))
      .to.match(new RegExp(`^Decided     2 decisions about what needs review\n${notes}$`, 'm'))
      .and.not.include('Known ');
    expect(await answer({ violations_new_or_open: 1, score_without_known: 99, score_without_decisions: 98 })).to.match(
      new RegExp(`^Known       2 of .*; without them 1 and score 99\nDecided     score 98 without .*\n${notes}$`, 'm'),
    );
  });

  it('keeps the verdict if the service fails after the last event', async () => {
    const ran = await scan(
      {
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(complete(2, { passed: false }))],
        [POLL]: [replies(503, { detail: 'service_unavailable' })],
      },
      ['--max-wait', '2'],
    );
    expect([ran.code, ran.stdout.includes('did not pass')]).to.deep.equal([1, true]);
    expect(ran.stderr).to.include('The comparison and the links of the scan are not known');
  });

  it('prints nothing with --quiet', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed: false, message: 'No.' }))] }, ['--quiet']);
    expect(ran).to.deep.include({ code: 1, stdout: '', stderr: '' });
  });

  it('removes control characters from messages', async () => {
    const ran = await scan({
      [SUBMIT]: [accepts],
      [EVENTS]: [streams(complete(2, { passed: false, message: 'a\u001b[2Jb\u202ec' }))],
    });
    expect(ran.stdout).to.include('✗ a [2Jb c');
  });

  it('prints no text as a command of a CI system', async () => {
    const message = '::error::a ##VSO[task.setvariable variable=x]y ##[group]z #b';
    const answers = () => ({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed: false, message }))] });
    expect((await scan(answers())).stdout).to.include(' : :error::a # #VSO[task.setvariable variable=x]y # #[group]z #b\n');
    const { stdout } = await scan(answers(), ['--json']);
    expect(stdout).to.not.match(/##|^\s*::/m);
    expect(JSON.parse(stdout)).to.include({ message });
    const refused = await scan({ [SUBMIT]: [replies(413, { detail: 'payload_too_large', message: '##[error]No.' })] });
    expect(refused.stderr).to.include('# #[error]No.');
  });
});
