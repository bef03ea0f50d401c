/** What changed since a commit, and who imports whom. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Graph } from './reach.ts';

const ROOT = join(import.meta.dirname, '..', '..');

async function run(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd: ROOT, maxBuffer: 256 << 20 });
  return stdout;
}

/** The files that differ from a commit, also those that are new or deleted. @throws if there is no such commit */
export async function changedSince(commit: string): Promise<string[]> {
  const lists = [
    await run('git', ['diff', '--name-only', '--no-renames', '-z', commit, '--']),
    await run('git', ['ls-files', '--others', '--exclude-standard', '-z']),
  ];
  return lists.flatMap((list) => list.split('\0')).filter((path) => path !== '');
}

interface Cruise {
  modules: { source: string; dependencies: { resolved: string }[] }[];
}

/** The modules of the repository and what each imports, also as types. */
export async function readGraph(): Promise<Graph> {
  const depcruise = join(ROOT, 'node_modules', '.bin', 'depcruise');
  const options = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json'];
  const folders = new Set(globSync('*/**/*.{ts,js}', { cwd: ROOT, exclude: ['**/node_modules/**'] }).map((path) => path.split('/')[0]!));
  const { modules } = JSON.parse(await run(depcruise, [...options, ...folders])) as Cruise;
  const own = modules.filter(({ source }) => !source.startsWith('node_modules/') && source.includes('/'));
  return new Map(own.map(({ source, dependencies }) => [source, dependencies.map(({ resolved }) => resolved)]));
}
