import { expect } from 'chai';
import { baselineMistake, readBaselineText, type BaselineOutcome } from './baseline.ts';
import { judge, judgeWithoutResult } from './thresholds.ts';

const SCAN = '3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b';
const counts = { total: 9, critical: 0, serious: 9, moderate: 0, minor: 0 };
const difference = { new: 2, onNewPages: 3, fixed: 1, unchanged: 4, notTested: 0 };

/** The verdict of a scan that allows one new violation. */
const verdictOf = (baseline: BaselineOutcome | undefined, maxNewViolations = 1) =>
  judge({ maxNewViolations }, { score: 50, violations: counts, pages: { scanned: 2, failed: 0, total: 2 }, ...(baseline && { baseline }) });

describe('the threshold for new violations', () => {
  it('is about what the baseline does not have', () => {
    expect(verdictOf({ scanId: SCAN, optional: false, difference }, 2)).to.deep.equal({ passed: true, message: null });
    expect(verdictOf({ scanId: SCAN, optional: false, difference })).to.deep.equal({
      passed: false,
      message: `There are 2 violations not in the baseline ${SCAN}, more than the 1 allowed.`,
    });
  });

  const problems: [BaselineOutcome['problem'], scanId: string | undefined, said: RegExp][] = [
    ['not_found', undefined, /no done scan matches the baseline\. Scan what the baseline names first/],
    ['not_stored', SCAN, /3f2b8c1e-.* is not stored any more/],
    ['not_comparable', SCAN, /3f2b8c1e-.* is too large or was made by another version/],
    ['scans_differ', SCAN, /^There are 2 violations not in the baseline 3f2b8c1e-.* other rules or checks/],
  ];
  for (const [problem, scanId, said] of problems)
    it(`is missed if the scan cannot be judged (${problem}), unless the baseline is optional`, () => {
      const found = { ...(scanId !== undefined && { scanId }), ...(problem === 'scans_differ' && { difference }), problem };
      const { passed, message } = verdictOf({ ...found, optional: false });
      expect(passed).to.equal(false);
      expect(message).to.match(said);
      const optional = verdictOf({ ...found, optional: true });
      // There is something to compare with.
      if (problem === 'scans_differ') return expect(optional.passed).to.equal(false);
      expect(optional.passed).to.equal(true);
      expect(optional.message).to.match(/^Baseline: .*, so new violations were not judged\.$/);
    });

  it('is met by few enough new violations, wherever they come from', () => {
    const differing = { scanId: SCAN, optional: false, problem: 'scans_differ', difference } as const;
    expect(verdictOf(differing, 2)).to.deep.equal({ passed: true, message: null });
  });

  it('is missed by a scan without a result', () => {
    expect(judgeWithoutResult({ maxNewViolations: 0 })).to.equal(false);
  });
});

describe('a baseline', () => {
  const cases: [what: string, choice: Parameters<typeof baselineMistake>[0], judged: boolean, said: RegExp | null][] = [
    ['nothing', undefined, false, null],
    ['a threshold without one', undefined, true, /needs a baseline/],
    ['a scan', { scan: SCAN }, true, null],
    ['nothing named', { optional: true }, true, /exactly one of scan, metadata, schedule/],
    ['two named', { scan: SCAN, schedule: 'nightly' }, false, /exactly one/],
    ['a site with metadata', { metadata: { branch: 'main' }, site: 'www.example.com' }, true, null],
    ['a site with a scheme', { metadata: { branch: 'main' }, site: 'https://www.example.com' }, true, /is a host/],
    ['a site in capitals', { metadata: { branch: 'main' }, site: 'WWW.example.com:8080' }, true, null],
    ['a site without metadata', { schedule: 'nightly', site: 'www.example.com' }, true, /only used with metadata/],
  ];
  for (const [what, choice, judged, said] of cases)
    it(`is checked: ${what}`, () => {
      const mistake = baselineMistake(choice, judged);
      if (said === null) expect(mistake).to.equal(null);
      else expect(mistake).to.match(said);
    });

  const texts: [string, ReturnType<typeof readBaselineText>][] = [
    ['branch=main', { metadata: { branch: 'main' } }],
    ['branch=release/1.2, stage=a b', { metadata: { branch: 'release/1.2', stage: 'a b' } }],
    ['schedule:nightly', { schedule: 'nightly' }],
    [SCAN.toUpperCase(), { scan: SCAN }],
    ['main', null],
    ['schedule:', null],
    ['branch=', null],
    ['branch=main,other', null],
  ];
  for (const [text, choice] of texts) it(`is read from “${text}”`, () => expect(readBaselineText(text)).to.deep.equal(choice));
});
