/** The bundled command line, made by tools/bundle.ts and installed in a folder of its own, for tests. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CURBCUT_VERSION } from '../../platform/version.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
export const PACKAGE = `curbcut-npm-${CURBCUT_VERSION}.tgz`;

/** The repository that bundles name. */
export const SOURCE_URL = 'https://git.example.com/owner/curbcut';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, with nothing of this process's environment but what is given. */
export function execute(file: string, args: readonly string[], env: Record<string, string | undefined>, cwd?: string): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(file, args, { env: env as NodeJS.ProcessEnv, cwd, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
    );
    child.stdin!.end();
  });
}

/** Runs tools/bundle.ts. */
export async function bundleTo(out: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'tools/bundle.ts'), ...args, out], { env: { ...process.env, SOURCE_URL } });
}

export interface Installation {
  /** What tools/bundle.ts wrote. */
  out: string;
  /** The folder in which the package was installed, where files of a test may be written too. */
  folder: string;
  /** `PATH` with the programs of the package first. */
  path: string;
  /** Runs a program in the folder, found in `path`. */
  run(program: string, args: readonly string[], environment?: Record<string, string | undefined>): Promise<Ran>;
  close(): Promise<void>;
}

/** Bundles the command line and installs its package, without a registry. */
export async function openInstallation(): Promise<Installation> {
  const home = await mkdtemp(join(tmpdir(), 'curbcut-bundle-'));
  const [out, folder] = [join(home, 'out'), join(home, 'empty')];
  await mkdir(folder);
  await bundleTo(out);
  const path = [join(folder, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter);
  const base = { PATH: path, HOME: home, CHROMIUM_PATH: process.env.CHROMIUM_PATH };
  const run: Installation['run'] = (program, args, environment = {}) =>
    execute('/usr/bin/env', [program, ...args], { ...base, ...environment }, folder);
  const installed = await run('npm', ['install', '--no-audit', '--no-fund', join(out, PACKAGE)], {
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
    npm_config_cache: join(home, 'cache'),
  });
  if (installed.code !== 0) throw new Error(`npm install: ${installed.stderr}`);
  return { out, folder, path, run, close: () => rm(home, { recursive: true, force: true }) };
}
