/** Shows what requests and scans cost in commands and writes: the counts that tests assert, on the embedded stack. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
/** The tests that call `showCount`. */
const FILES = ['api/round-trips', 'api/refusals', 'operator/writes', 'operator/many-namespaces'].map((name) => `test/${name}.test.ts`);

export interface Count {
  what: string;
  count: number;
}

/** @throws with the output of the tests if one fails */
export async function readCounts(): Promise<Count[]> {
  const mocha = join(ROOT, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const { KUBECONFIG: _cluster, ...environment } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [mocha, '--no-config', '--exit', '--timeout', '120000', ...FILES], {
    cwd: ROOT,
    env: { ...environment, SHOW_COUNTS: '1' },
    maxBuffer: 16 << 20,
  }).catch((error: Error & { stdout?: string }) => {
    throw new Error(`the tests that count failed:\n${error.stdout ?? error.message}`);
  });
  return [...stdout.matchAll(/^count\t(\d+)\t(.+)$/gm)].map(([, count, what]) => ({ what: what!, count: Number(count) }));
}
