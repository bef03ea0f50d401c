/** Reads a folder of ACT test cases in the layout that the W3C publishes: `testcases.json` beside the pages that it names. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

const Requirement = Type.Object({ secondary: Type.Optional(Type.Unknown()) });

/** The fields of a test case that are used here. https://www.w3.org/WAI/standards-guidelines/act/report/testcases/ describes them. */
const TestCase = Type.Object({
  ruleId: Type.String({ pattern: '^[0-9a-z]+$' }),
  ruleName: Type.String(),
  rulePage: Type.String(),
  /** By key, such as `wcag21:1.4.12`. A failed case may satisfy a secondary requirement. */
  ruleAccessibilityRequirements: Type.Union([Type.Record(Type.String(), Requirement), Type.Null()]),
  expected: Type.Union([Type.Literal('passed'), Type.Literal('failed'), Type.Literal('inapplicable')]),
  testcaseId: Type.String(),
  testcaseTitle: Type.String(),
  relativePath: Type.String(),
  url: Type.String({ pattern: '^https?://' }),
  /** Whether the W3C has approved the case. Absent if it is only proposed. */
  approved: Type.Optional(Type.Boolean()),
});
export type TestCase = Static<typeof TestCase>;

const CaseFile = Type.Object({ testcases: Type.Array(TestCase, { minItems: 1 }) });

/** What is wrong with a folder. The message is complete. */
export class CaseFolderError extends Error {
  override readonly name = 'CaseFolderError';
}

export interface CaseFolder {
  folder: string;
  cases: TestCase[];
  /** The path of the folder on the site that publishes it, with slashes around it. The cases refer to files below it. */
  basePath: string;
  /** The SHA-256 of `testcases.json`. It identifies the cases, because the ID of a case is a hash of its content. */
  sha256: string;
  /** The commit and its day, if the folder belongs to a checkout. */
  commit: string | null;
}

const HELP =
  'Give a folder in the layout of https://www.w3.org/WAI/content-assets/wcag-act-rules/: testcases.json, testcases/, test-assets/.';

/** @throws CaseFolderError */
export function readCaseFolder(folder: string): CaseFolder {
  const file = join(folder, 'testcases.json');
  if (!existsSync(file)) throw new CaseFolderError(`${folder} has no testcases.json. ${HELP}`);
  const text = readFileSync(file, 'utf8');
  const cases = parseCases(text, file);
  const missing = cases.filter(({ relativePath }) => !existsSync(join(folder, relativePath)));
  if (missing.length > 0)
    throw new CaseFolderError(`${folder} lacks ${missing.length} of ${cases.length} cases, such as ${missing[0]!.relativePath}. ${HELP}`);
  return {
    folder,
    cases,
    basePath: basePathOf(cases, file),
    sha256: createHash('sha256').update(text).digest('hex'),
    commit: commitOf(folder),
  };
}

function parseCases(text: string, file: string): TestCase[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new CaseFolderError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (Value.Check(CaseFile, parsed)) return parsed.testcases;
  const [first] = Value.Errors(CaseFile, parsed);
  throw new CaseFolderError(`${file} is not a list of test cases: ${first?.instancePath ?? ''} ${first?.message ?? ''}. ${HELP}`);
}

/** Each address ends with the case's path in the folder; what is before it must be the same for all. */
function basePathOf(cases: readonly TestCase[], file: string): string {
  const bases = new Set(
    cases.map(({ url, relativePath }) => {
      const { pathname } = new URL(url);
      if (!pathname.endsWith(`/${relativePath}`))
        throw new CaseFolderError(`${file}: the address ${url} does not end with ${relativePath}`);
      return pathname.slice(0, -relativePath.length);
    }),
  );
  if (bases.size > 1) throw new CaseFolderError(`${file}: the cases are below several addresses: ${[...bases].join(', ')}`);
  return [...bases][0]!;
}

function commitOf(folder: string): string | null {
  try {
    const git = ['-C', folder, 'log', '-1', '--format=commit %h of %cs', '--', '.'];
    return execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || null;
  } catch {
    // There is no git, or the folder is no checkout: the hash identifies the cases.
    return null;
  }
}
