/**
 * Checks what keeps the project small enough to be read: node tools/size.ts prints the lines of each package beside its budget,
 * and fails if one is over it. Whoever raises a budget says in the body of the commit what for.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** The most lines of each package: production code (`*.ts` and `*.js`), and tests beside it. */
const LINES: Readonly<Record<string, { production: number; tests: number }>> = {
  core: { production: 4795, tests: 1715 },
  report: { production: 16433, tests: 1810 },
  platform: { production: 2734, tests: 1734 },
  stores: { production: 9284, tests: 635 },
  api: { production: 26674, tests: 2430 },
  operator: { production: 11820, tests: 8786 },
  'scanner-image': { production: 15396, tests: 3639 },
  cli: { production: 5509, tests: 366 },
  local: { production: 10044, tests: 3760 },
  'demo-site': { production: 121, tests: 0 },
  test: { production: 0, tests: 60405 },
  tools: { production: 3430, tests: 579 },
  bench: { production: 2475, tests: 0 },
};
/** Tools and benchmarks are not part of the product. */
const PRODUCT = Object.keys(LINES).filter((name) => !['test', 'tools', 'bench'].includes(name));

const MOST = {
  'production files': 706,
  'production files below 25 lines': 30,
  'production lines over 150 characters': 378,
  'comments with a sentence over 30 words': 0,
  'files deeper than two folders below their package': 0,
};
const SHORT_FILE = 25;
const LONG_LINE = 150;
const LONG_SENTENCE = 30;
const DEEPEST = 2;

interface SourceFile {
  path: string;
  package: string;
  isTest: boolean;
  lines: string[];
}

function sourceFiles(): SourceFile[] {
  const paths = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...Object.keys(LINES)], { cwd: ROOT, encoding: 'utf8' });
  return paths
    .split('\n')
    .filter((path) => /\.(ts|js|mjs)$/.test(path) && existsSync(join(ROOT, path)))
    .map((path) => ({
      path,
      package: path.split('/')[0]!,
      isTest: /\.test\.|(^|\/)tests?\//.test(path),
      lines: readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n'),
    }));
}

/** The comments of a file: blocks, and lines that are nothing else, those that follow each other as one. */
function commentsOf({ lines }: SourceFile): string[] {
  const blocks = lines.join('\n').match(/^\s*\/\*[^]*?\*\/|(?:^\s*\/\/.*(?:\n|$))+/gm) ?? [];
  return blocks.map((block) => block.replaceAll(/^\s*(?:\/\*+|\*\/|\*|\/\/)|\*\/\s*$/gm, ' '));
}

/** Sentences end with a full stop, a question mark, an empty line, a tag such as `@param`, or a list's or table's line. */
const sentencesOf = (comment: string): string[] => comment.split(/[.?!]['")`]*\s|\n\s*\n|\n\s*(?=[-|])|(?=@\w)/);
const wordsIn = (sentence: string): number =>
  sentence
    .replaceAll(/`[^`]*`/g, 'code')
    .split(/\s+/)
    .filter((word) => /\w/.test(word)).length;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const files = sourceFiles();
/** The scripts of the demo site's pages are part of what is scanned. */
const isProduct = ({ path, package: name, isTest }: SourceFile): boolean =>
  PRODUCT.includes(name) && !isTest && !path.startsWith('demo-site/site/');
const production = files.filter(isProduct);
const overlong = production.flatMap((file) =>
  commentsOf(file)
    .filter((comment) => sentencesOf(comment).some((sentence) => wordsIn(sentence) > LONG_SENTENCE))
    .map((comment) => `${file.path}: ${comment.trim().slice(0, 80)}`),
);
const short = production.filter(({ lines }) => lines.length < SHORT_FILE).map(({ path }) => path);
const deep = production.filter(({ path }) => path.split('/').length - 2 > DEEPEST).map(({ path }) => path);
const found: Record<keyof typeof MOST, { count: number; places: string[] }> = {
  'production files': { count: production.length, places: [] },
  'production files below 25 lines': { count: short.length, places: short },
  'production lines over 150 characters': {
    count: sum(production.map(({ lines }) => lines.filter((line) => line.length > LONG_LINE).length)),
    places: [],
  },
  'comments with a sentence over 30 words': { count: overlong.length, places: overlong },
  'files deeper than two folders below their package': { count: deep.length, places: deep },
};

const problems: string[] = [];
const rows = Object.entries(LINES).map(([name, budget]) => {
  const own = files.filter((file) => file.package === name);
  const isCode = (file: SourceFile): boolean => (PRODUCT.includes(name) ? isProduct(file) : !file.isTest && name !== 'test');
  const linesOf = (list: readonly SourceFile[]): number => sum(list.map(({ lines }) => lines.length));
  const counted = { production: linesOf(own.filter(isCode)), tests: linesOf(own.filter((file) => file.isTest || name === 'test')) };
  for (const kind of ['production', 'tests'] as const)
    if (counted[kind] > budget[kind])
      problems.push(`${name}/ has ${counted[kind]} lines of ${kind}, more than its budget of ${budget[kind]}`);
  return { name, ...counted, budget, files: own.filter(isCode).length };
});
const cells = (values: readonly (string | number)[]): string =>
  values.map((value, at) => (at === 0 ? String(value).padEnd(16) : String(value).padStart(12))).join('');
console.log(cells(['package', 'production', 'budget', 'tests', 'budget', 'files']));
for (const row of rows) console.log(cells([row.name, row.production, row.budget.production, row.tests, row.budget.tests, row.files]));
const product = rows.filter(({ name }) => PRODUCT.includes(name));
console.log(
  cells([
    'the product',
    sum(product.map((row) => row.production)),
    '',
    sum(rows.map((row) => row.tests)),
    '(with test/)',
    production.length,
  ]),
);
for (const [what, most] of Object.entries(MOST) as [keyof typeof MOST, number][]) {
  const { count, places } = found[what];
  console.log(`${what}: ${count} (at most ${most})`);
  if (count > most) problems.push([`${what}: ${count}, more than ${most}`, ...places.map((place) => `  ${place}`)].join('\n'));
  else if (process.argv.includes('--places')) for (const place of places) console.log(`  ${place}`);
}
for (const problem of problems) console.error(`size: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
