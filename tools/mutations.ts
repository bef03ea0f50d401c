/**
 * Breaks production code in some places, one at a time, and says which breaks the tests notice:
 *
 *   node tools/mutations.ts [--count 40] [--seed 1] [--from 0] [--again FILE]
 *
 * The places are spread over the packages in proportion to their lines, and the same ones for a seed and a commit; with `--again` they
 * are those of an earlier output, found again by their text. The 40 tests that reach the file with the fewest imports between
 * run until one fails, the nearest first. Run it in a checkout of its own: a stopped run leaves its last break in the file.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { createRandom } from '../test/support/random.ts';
import { readGraph } from '../test/runner/graph.ts';
import { testsReachedBy, type Graph } from '../test/runner/reach.ts';
import { allTestFiles, CLUSTER_ONLY, filesOf, NIGHT_ONLY } from '../test/runner/suites.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = ['core', 'report', 'platform', 'stores', 'api', 'operator', 'scanner-image', 'cli', 'local'];
/** Tests that run in one process. */
const CHUNK = 5;
/** Tests further away than this many others rarely notice what the nearest do not, and take hours. */
const NEAREST = 40;
const CHUNK_MS = 400_000;

interface Break {
  file: string;
  line: number;
  what: string;
  text: string;
}

const SWAPPED: Readonly<Record<string, string>> = {
  '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===', '&&': '||', '||': '&&', '+': '-', '-': '+', '??': '&&',
}; // prettier-ignore

/** Every place of a file that can be broken: an operator swapped, a condition turned, a number changed, a call left out. */
function breaksOf(file: string): Break[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Break[] = [];
  const add = (node: ts.Node, by: string): void => {
    const [start, end] = [node.getStart(), node.getEnd()];
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    const what = `${text.slice(start, end).replaceAll(/\s+/g, ' ').slice(0, 60)} → ${by.slice(0, 60)}`;
    found.push({ file, line, what, text: text.slice(0, start) + by + text.slice(end) });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node)) {
      const by = SWAPPED[node.operatorToken.getText()];
      if (by !== undefined) add(node.operatorToken, by);
    } else if (ts.isIfStatement(node)) add(node.expression, `!(${node.expression.getText()})`);
    else if (ts.isNumericLiteral(node) && !ts.isLiteralTypeNode(node.parent)) add(node, String(Number(node.text) + 1));
    else if (ts.isExpressionStatement(node) && (ts.isCallExpression(node.expression) || ts.isAwaitExpression(node.expression)))
      add(node, ';');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** A number of places, by package in proportion to its lines. */
function chosen(count: number, seed: number): Break[] {
  const random = createRandom(seed);
  const files = PACKAGES.map((name) =>
    globSync(`${name}/**/*.ts`, { cwd: ROOT, exclude: ['**/node_modules/**', '**/*.test.ts', '**/tests/**'] }).sort(),
  );
  const lines = (file: string): number => readFileSync(join(ROOT, file), 'utf8').split('\n').length;
  const sizes = files.map((paths) => paths.reduce((sum, path) => sum + lines(path), 0));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  return files.flatMap((paths, at) => {
    const places = paths.flatMap(breaksOf);
    return Array.from({ length: Math.max(1, Math.round((count * sizes[at]!) / all)) }, () => places[Math.floor(random() * places.length)]!);
  });
}

/** The places of an earlier output, each where its text is now, nearest to its line. A place that is gone is left out. */
function chosenBefore(output: string): Break[] {
  return output.split('\n').flatMap((row) => {
    const [, , place = '', what] = row.split('\t');
    const [file = '', line] = place.split(':');
    if (what === undefined) return [];
    const same = existsSync(join(ROOT, file)) ? breaksOf(file).filter((found) => found.what === what) : [];
    if (same.length === 0) console.log(`gone\t${place}\t${what}`);
    return same.sort((one, other) => Math.abs(one.line - Number(line)) - Math.abs(other.line - Number(line))).slice(0, 1);
  });
}

/** The number of imports between a file and each module that imports it, directly or not. */
function distancesFrom(file: string, graph: Graph): Map<string, number> {
  const distances = new Map([[file, 0]]);
  // A map's iteration includes what is added meanwhile.
  for (const [path, distance] of distances)
    for (const [importer, imports] of graph) if (imports.includes(path) && !distances.has(importer)) distances.set(importer, distance + 1);
  return distances;
}

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    again: { type: 'string' },
  },
});
const graph = await readGraph();
const outside = new Set([...filesOf(CLUSTER_ONLY), ...filesOf(NIGHT_ONLY)]);
const tests = allTestFiles().filter((file) => !outside.has(file));
const places =
  values.again === undefined ? chosen(Number(values.count), Number(values.seed)) : chosenBefore(readFileSync(values.again, 'utf8'));
for (const [at, { file, line, what, text }] of places.entries()) {
  if (at < Number(values.from)) continue;
  const before = readFileSync(join(ROOT, file), 'utf8');
  const distances = distancesFrom(file, graph);
  const distance = (test: string): number => distances.get(test) ?? 100;
  const reached = [...testsReachedBy([file], graph, tests)]
    .sort((a, b) => distance(a) - distance(b) || a.localeCompare(b))
    .slice(0, NEAREST);
  let by: string | null = null;
  writeFileSync(join(ROOT, file), text);
  try {
    for (let from = 0; from < reached.length && by === null; from += CHUNK) {
      const run = spawnSync('node_modules/.bin/mocha', ['--bail', '--reporter', 'dot', ...reached.slice(from, from + CHUNK)], {
        cwd: ROOT,
        encoding: 'utf8',
        timeout: CHUNK_MS,
        env: { ...process.env, KUBECONFIG: '' },
      });
      if (run.status !== 0)
        by = /1\) (.*\n.*)/.exec(run.stdout)?.[1]?.replaceAll(/\s+/g, ' ') ?? 'a time-out, or a file that does not load';
    }
  } finally {
    writeFileSync(join(ROOT, file), before);
  }
  console.log(
    `${at}\t${by === null ? 'NOT NOTICED' : 'noticed'}\t${file}:${line}\t${what}\t${by ?? `by the nearest ${reached.length} files`}`,
  );
}
