/** `make act CASES=folder`: scans the W3C's ACT test cases and writes docs/contributing/act.md. The cases are not part of the repository. */
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { standardsOf } from '../report/rules/rules.ts';
import { withDefaults } from '../core/scan/options.ts';
import { errorMessage } from '../platform/errors.ts';
import { AXE_VERSION } from '../scanner-image/page/scripts/source.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';
import { CaseFolderError, readCaseFolder, type CaseFolder, type TestCase } from './act/cases.ts';
import { actPage, summary } from './act/page.ts';
import { runCases, type CaseResult } from './act/run.ts';
import { serveCases } from './act/server.ts';
import { countedCases, needsLevelAaa, rowOf, type OwnRule } from './act/tally.ts';
import { axeRules } from './rule-texts.ts';

const PAGE = join(import.meta.dirname, '..', 'docs', 'contributing', 'act.md');
const WORKERS = 2;
const HELP = `Usage: make act CASES=folder [SOURCE=text]

  folder  test cases in the layout that the W3C publishes: testcases.json, testcases/ and test-assets/, for example the folder
          content-assets/wcag-act-rules of a clone of https://github.com/w3c/wcag-act-rules
  SOURCE  which cases these are, if the folder is no checkout: their commit or date

Scans every case that a rule of Curbcut covers and writes docs/contributing/act.md. Needs no network: addresses outside of the folder fail to load.
The exit status is 0 if the page was written, whatever it says; 1 if a run failed; 2 if the folder cannot be used.`;

/** Our rules by the ACT rule that they cover. */
function ownRules(): Map<string, OwnRule[]> {
  const mapped = new Map<string, OwnRule[]>();
  for (const { ruleId } of axeRules()) {
    const rule = standardsOf(ruleId);
    for (const act of rule?.act_rules ?? []) mapped.set(act, [...(mapped.get(act) ?? []), rule!]);
  }
  return mapped;
}

async function run(folder: CaseFolder, source: string): Promise<string> {
  const byAct = ownRules();
  const { wcagLevel: level, wcagVersion: version } = withDefaults({ url: 'http://cases/' });
  const counted = countedCases(folder.cases);
  const covered = [...counted].filter(([id]) => byAct.has(id));
  const isAaa = ([id]: [string, TestCase[]]): boolean => needsLevelAaa(byAct.get(id)!);
  const standard = covered.filter((entry) => !isAaa(entry));
  const aaa = covered.filter(isAaa);
  const server = await serveCases(folder);
  const total = covered.reduce((sum, [, cases]) => sum + cases.length, 0);
  let done = 0;
  const onResult = (testCase: TestCase, result: CaseResult): void => {
    done += 1;
    const end = result.tested ? '' : `: not tested (${result.reason})`;
    if (!result.tested || done % 25 === 0 || done === total) console.log(`${done}/${total} ${testCase.relativePath}${end}`);
  };
  try {
    const visit = (entries: typeof covered, of: typeof level) =>
      runCases(entries.flatMap(([, cases]) => cases), server, { target: { level: of, version }, workers: WORKERS, onResult }); // prettier-ignore
    const { results, browser } = await visit(standard, level);
    const { results: aaaResults } = await visit(aaa, 'AAA');
    const rows = (entries: typeof covered, of: typeof results) => entries.map(([id, cases]) => rowOf(cases, byAct.get(id)!, of));
    const tables = {
      standard: rows(standard, results),
      aaa: rows(aaa, aaaResults),
      uncovered: [...counted].filter(([id]) => !byAct.has(id)).map(([, cases]) => rowOf(cases, [], new Map())),
      missing: [...server.missing].sort(),
    };
    console.log(summary(tables.standard.filter(({ approved, rules }) => approved && rules.length > 0)));
    const versions = { curbcut: CURBCUT_VERSION, axeCore: AXE_VERSION, browser: `Chromium ${browser}` };
    const date = new Date().toISOString().slice(0, 10);
    return actPage({ ...tables, provenance: { date, source, sha256: folder.sha256, ...versions, target: `WCAG ${version} ${level}` } });
  } finally {
    await server.close();
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { source: { type: 'string' }, page: { type: 'string', default: PAGE }, help: { type: 'boolean', default: false } },
});
const { source, page, help } = values;
const [folder] = positionals;
if (help || folder === undefined) {
  (help ? console.log : console.error)(HELP);
  process.exit(help ? 0 : 2);
}
try {
  const cases = readCaseFolder(folder);
  writeFileSync(page, await run(cases, source ?? cases.commit ?? 'of unknown date'));
  console.log(`wrote ${relative(process.cwd(), page)}`);
} catch (error) {
  console.error(error instanceof CaseFolderError ? error.message : errorMessage(error));
  process.exitCode = error instanceof CaseFolderError ? 2 : 1;
}
