/**
 * Runs the cluster's tests on the cluster of KUBECONFIG: the same files that run on the embedded stack (controller
 * runtime, operator, semantics of the Kubernetes API, whole scans by real pods of the built images), then the chart's.
 * Ends with what failed and one line `N passed, N failed`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CRDS } from '../../local/stack.ts';
import { closing, exitCodeOf, tally, type Tally } from '../tally.ts';

/** One after the other: they share a cluster, and what they measure is whether things end, not how fast. */
const PARTS: Readonly<Record<string, string>> = {
  semantics: 'local/tests/kube/semantics.test.ts',
  runtime: 'test/runtime/*.test.ts',
  operator: 'test/operator/*.test.ts',
  journey: 'test/journey/*.test.ts',
  cluster: 'test/cluster/*.test.ts',
};

const root = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { only: { type: 'string' }, 'keep-images': { type: 'boolean', default: false } } });
const parts = values.only?.split(',') ?? Object.keys(PARTS);
const unknown = parts.filter((part) => !(part in PARTS));
if (unknown.length > 0) fail(`There is no part ${unknown.join(', ')}; the parts are ${Object.keys(PARTS).join(', ')}.`);
if (!process.env.KUBECONFIG) fail('KUBECONFIG is not set: export it for the cluster that the tests may use (kind, k3d, minikube, …).');

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
function step(what: string, command: string, args: readonly string[]): void {
  console.log(`── ${what}`);
  try {
    execFileSync(command, args, { cwd: root, stdio: 'inherit' });
  } catch {
    fail(`${what}: failed; the lines above say why.`);
  }
}

if (!values['keep-images']) step('images', join(root, 'tools', 'images'), []);
step('custom resource definitions', 'kubectl', ['apply', ...CRDS.flatMap((path) => ['-f', path])]);

const runs = new Map<string, Tally>();
for (const part of parts) {
  const files = globSync(PARTS[part]!, { cwd: root }).sort();
  if (files.length === 0) continue;
  console.log(`\n── ${part}`);
  const mocha = spawn(
    process.execPath,
    [join(root, 'node_modules/mocha/bin/mocha.js'), '--no-config', '--timeout', '120000', '--forbid-only', '--exit', ...files],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  mocha.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  const code = await new Promise<number | null>((resolve) => mocha.on('close', resolve));
  runs.set(part, tally(output, code));
}
process.stdout.write(closing(runs));
process.exit(exitCodeOf(runs));
