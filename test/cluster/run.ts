/**
 * Runs the cluster tests on the cluster of KUBECONFIG: the files that `make test` runs on the embedded stack (Kubernetes
 * semantics, controller runtime, operator, whole scans by pods of the built images), then those of the chart. Parts run
 * at the same time if they do not disturb each other (parts.ts). Prints the failures and one line `N passed, N failed`.
 */
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { CRDS } from '../../local/stack.ts';
import { lastNight, recordNight } from '../runner/night.ts';
import { runSuite } from '../runner/run-suite.ts';
import { filesOf } from '../runner/suites.ts';
import { closingLines, exitCodeOf, skipRules, type SuiteResult } from '../runner/summary.ts';
import { NIGHTLY } from '../support/nightly.ts';
import { PARTS } from './parts.ts';
import { runShared } from './schedule.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** The maximum number of mocha processes. They mostly wait, but each loads the code under test. */
const PROCESSES = 4;

const { values } = parseArgs({ options: { only: { type: 'string' }, 'keep-images': { type: 'boolean', default: false } } });
const parts = values.only?.split(',') ?? Object.keys(PARTS).filter((name) => NIGHTLY || !PARTS[name]!.nightly);
const unknown = parts.filter((part) => !(part in PARTS));
if (unknown.length > 0) fail(`unknown part: ${unknown.join(', ')}; the parts are ${Object.keys(PARTS).join(', ')}`);
if (!process.env.KUBECONFIG) fail('KUBECONFIG is not set: set it to a cluster that the tests may use (kind, k3d, minikube, …)');

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

/** Builds the images whose content changed. @throws with the output of the build */
async function buildImages(): Promise<void> {
  const started = performance.now();
  const build = promisify(execFile)(join(ROOT, 'tools', 'images'), ['--if-changed'], { cwd: ROOT, maxBuffer: 256 << 20 });
  const { stderr } = await build.catch((error: Error & { stdout: string; stderr: string }) => {
    throw new Error(`images could not be built:\n${error.stdout}${error.stderr}`);
  });
  process.stdout.write(stderr.replaceAll(/^(?!images: ).*\n/gm, ''));
  console.log(`── images: ready after ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

try {
  execFileSync('kubectl', ['apply', ...CRDS.flatMap((path) => ['-f', path])], { cwd: ROOT, stdio: 'inherit' });
} catch {
  fail('the custom resource definitions could not be applied; the lines above show why');
}
const needsImages = parts.some((part) => PARTS[part]!.images) && !values['keep-images'];
const images = needsImages ? buildImages() : Promise.resolve();
images.catch(() => undefined); // each part that needs them reports the failure

const results = new Map<string, SuiteResult>();
const tasks = Object.entries(PARTS)
  .filter(([name]) => parts.includes(name))
  .map(([name, part]) => ({
    share: part.node,
    ready: part.images ? images : Promise.resolve(),
    run: async () => {
      const suite = { name, files: filesOf(part.files), environment: process.env, print: (line: string) => console.log(line) };
      results.set(name, await runSuite(suite));
    },
    failed: (error: unknown) => {
      results.set(name, { passed: 0, failures: [{ title: `${name} could not run`, detail: String(error) }], skipped: [] });
    },
  }));
await runShared(tasks, PROCESSES);

const rules = skipRules(process.env);
const code = exitCodeOf(results, rules);
if (NIGHTLY && code === 0 && values.only === undefined) recordNight('make test-cluster');
console.log(lastNight());
process.stdout.write(closingLines(results, rules));
process.exit(code);
