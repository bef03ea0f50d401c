/** Files of Go modules that tests compare with, and that are not part of this repository. */
import { execFile } from 'node:child_process';
import { chmodSync, globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Module, version, and the files in it. */
export type ModuleFiles = readonly [module: string, version: string, pattern: string];

const run = promisify(execFile);

/** Go as a module, for machines whose own is older than 1.21, which cannot get a newer one itself. */
const TOOLCHAIN: ModuleFiles = [
  'golang.org/toolchain',
  `v0.0.1-go1.26.8.linux-${process.arch === 'x64' ? 'amd64' : process.arch}`,
  '{bin,pkg/tool/*}/*',
];

/** Returns a Go that can build any of our modules: the machine's own, or one that it downloads. */
export async function newGo(): Promise<{ ok: true; go: string } | { ok: false; reason: string }> {
  const version = await run('go', ['version']).then(
    ({ stdout }) => stdout,
    () => '',
  );
  if (Number(/go1\.(\d+)/.exec(version)?.[1]) >= 21) return { ok: true, go: 'go' };
  const found = await filesOfModules([TOOLCHAIN]);
  if (!found.ok) return found;
  // Modules have no executable files.
  for (const file of found.files) chmodSync(file, 0o555);
  return { ok: true, go: found.files.find((file) => file.endsWith('/bin/go'))! };
}

/** Returns the paths of the files, or why there are none: Go or its module proxy is missing. Go caches the modules. */
export async function filesOfModules(
  modules: readonly ModuleFiles[],
): Promise<{ ok: true; files: string[] } | { ok: false; reason: string }> {
  // Outside of a module, Go downloads without a go.mod. Modules that need a newer Go are unpacked all the same.
  const options = { cwd: tmpdir(), env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }, timeout: 240_000 };
  try {
    const cache = (await run('go', ['env', 'GOMODCACHE'], options)).stdout.trim();
    const files: string[] = [];
    for (const [module, version, pattern] of modules) {
      const folder = join(cache, `${module}@${version}`);
      const present = (): string[] => globSync(pattern, { cwd: folder }).map((path) => join(folder, path));
      if (present().length === 0) await run('go', ['mod', 'download', `${module}@${version}`], options).catch(() => undefined);
      if (present().length === 0) return { ok: false, reason: `the Go module ${module}@${version} cannot be downloaded` };
      files.push(...present());
    }
    return { ok: true, files };
  } catch (error) {
    return { ok: false, reason: `go is not installed (${(error as Error).message.split('\n')[0]})` };
  }
}
