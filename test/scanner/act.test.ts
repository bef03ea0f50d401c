/** The rules that cover ACT rules, on own cases in the layout of the W3C's, some of them for a commit; and `make act` itself. */
import { globSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { standardsOf } from '../../report/rules/rules.ts';
import { isOwnRule } from '../../report/schema/engines.ts';
import { someOf } from '../support/nightly.ts';
import { axeTags } from '../../core/scan/options.ts';
import type { TestCase } from '../../tools/act/cases.ts';
import { runCases, type CaseResult } from '../../tools/act/run.ts';
import { serveCases, type CaseServer } from '../../tools/act/server.ts';
import { axeRules } from '../../tools/rule-texts.ts';

const FOLDER = join(import.meta.dirname, 'act-cases');
const TOOL = join(import.meta.dirname, '..', '..', 'tools', 'act.ts');

/** Rules that leave the element of their failed case to a person. */
const REVIEWED: ReadonlySet<string> = new Set([
  'bypass',
  'duplicate-id-aria',
  'frame-title-unique',
  'identical-links-same-purpose',
  'no-autoplay-audio',
  'th-has-data-cells',
  'video-caption',
]);

/** A case of the repository, with the rule that it guards, and how that rule must end. */
type OwnCase = TestCase & { rule: string; outcome: 'violation' | 'needs_review' | 'none' };

/** The cases by their files: `testcases/ACT-RULE/RULE-failed.html` and `…-passed.html`. */
const CASES: OwnCase[] = globSync('testcases/*/*.html', { cwd: FOLDER })
  .sort()
  .map((relativePath) => {
    const named = /^testcases\/(?<ruleId>\w+)\/(?<rule>[\w-]+)-(?<expected>failed|passed)\.html$/.exec(relativePath);
    if (named === null) throw new Error(`${relativePath} is not named as a case`);
    const { ruleId, rule, expected } = named.groups as { ruleId: string; rule: string; expected: 'failed' | 'passed' };
    return {
      ruleId,
      ruleName: ruleId,
      rulePage: `https://act.example/${ruleId}/`,
      ruleAccessibilityRequirements: null,
      expected,
      testcaseId: relativePath,
      testcaseTitle: relativePath,
      relativePath,
      url: `https://curbcut.example/act-cases/${relativePath}`,
      rule,
      outcome: expected === 'passed' ? 'none' : REVIEWED.has(rule) ? 'needs_review' : 'violation',
    };
  });

/** Most rules are those of axe-core as it is: the night tests them all, and `make act` each new version of axe-core. */
const SCANNED_RULES = someOf([...new Set(CASES.map(({ rule }) => rule))], 16);
const SCANNED = CASES.filter(({ rule }) => isOwnRule(rule) || SCANNED_RULES.includes(rule));

/** Whether axe-core runs a rule for some conformance level. */
function isOn(tags: readonly string[]): boolean {
  const run = axeTags('AAA', '2.2');
  return tags.some((tag) => run.includes(tag)) && !tags.includes('experimental') && !tags.includes('deprecated');
}

const outcomeOf = (result: CaseResult | undefined, rule: string): OwnCase['outcome'] | 'untested' =>
  result?.tested !== true ? 'untested' : result.violations.has(rule) ? 'violation' : result.needsReview.has(rule) ? 'needs_review' : 'none';

describe('own ACT cases', () => {
  let server: CaseServer;
  let results: Map<TestCase, CaseResult>;
  before(async function () {
    this.timeout(240_000);
    server = await serveCases({ folder: FOLDER, basePath: '/act-cases/' });
    ({ results } = await runCases(SCANNED, server, { target: { level: 'AAA', version: '2.2' }, workers: 2 }));
  });
  after(() => server.close());

  it('have a failed and a passed case for each rule that covers an ACT rule and is on', () => {
    const covering = axeRules().filter(({ ruleId, tags }) => isOn(tags) && standardsOf(ruleId)!.act_rules.length > 0);
    const expectedOf = (rule: string): string[] => CASES.filter((one) => one.rule === rule).map(({ expected }) => expected);
    const lacking = covering.filter(({ ruleId }) => !['failed', 'passed'].every((expected) => expectedOf(ruleId).includes(expected)));
    expect(lacking.map(({ ruleId }) => ruleId)).to.deep.equal([]);
  });

  for (const testCase of SCANNED) {
    const { rule, outcome } = testCase;
    it(`${rule}, ${testCase.expected} case of ${testCase.ruleId}: ${outcome}`, function () {
      const ofRule = SCANNED.filter((one) => one.rule === rule);
      const applied = ofRule.some((one) => outcomeOf(results.get(one), rule) !== 'none');
      // A rule that is off reports nothing. Its cases guard it as soon as it is on.
      expect(outcomeOf(results.get(testCase), rule)).to.equal(applied || isOn(standardsOf(rule)!.tags) ? outcome : 'none');
    });
  }

  it('request no file that is missing', () => expect([...server.missing]).to.deep.equal([]));
});

describe('make act', () => {
  let dir: string;
  beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'curbcut-act-'))));
  afterEach(() => rm(dir, { recursive: true }));

  const act = (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, [TOOL, ...args], { timeout: 240_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

  it('writes the page from a folder of cases', async () => {
    const criteria: Record<string, string> = { '23a2a8': 'wcag20:1.1.1', '09o5cg': 'wcag20:1.4.6', '2ee8b8': 'wcag21:2.5.3' };
    const testcases = CASES.filter(({ ruleId }) => Object.hasOwn(criteria, ruleId)).map((testCase) => ({
      ...testCase,
      ruleAccessibilityRequirements: { [criteria[testCase.ruleId]!]: {} },
    }));
    await writeFile(join(dir, 'testcases.json'), JSON.stringify({ testcases }));
    for (const { relativePath } of testcases) await cp(join(FOLDER, relativePath), join(dir, relativePath));
    const page = join(dir, 'act.md');
    const { code, stdout } = await act('--source', 'own cases', '--page', page, dir);
    expect(stdout).to.match(/^(\d+)\/\1 testcases\//m);
    const text = await readFile(page, 'utf8');
    expect(text).to.include('| test cases | own cases; SHA-256');
    expect(text).to.match(/\(23a2a8\) \| `image-alt`, `role-img-alt` \| 2 \| 2 \| 0 \| 0 \| 2 \| 0 \| 0 \| consistent \|/);
    expect(text).to.match(
      /## Level AAA\n[^#]*\(09o5cg\) \| `color-contrast`, `color-contrast-enhanced` \| 1 \| 1 \| 0 \| 0 \| 1 \| 0 \| 0 \| consistent \|/,
    );
    expect(code).to.equal(0);
  }).timeout(240_000);

  it('says what is wrong with the folder', async () => {
    const { code, stderr } = await act(dir);
    expect([code, stderr]).to.deep.equal([
      2,
      `${dir} has no testcases.json. Give a folder in the layout of https://www.w3.org/WAI/content-assets/wcag-act-rules/: testcases.json, testcases/, test-assets/.\n`,
    ]);
  });
});
