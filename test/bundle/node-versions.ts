/** Other versions of Node.js than this project's, fetched by these tests only. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './installed.ts';

const PINNED = join(import.meta.dirname, 'node-versions');
const FOLDER = join(ROOT, '.curbcut/node-versions');

/** Returns the file of a version that node-versions/package.json pins. @throws if it cannot be installed */
export async function nodeOf(major: number): Promise<string> {
  const file = join(FOLDER, 'node_modules', `node-${major}-${process.arch}`, 'bin/node');
  const same = await Promise.all([PINNED, FOLDER].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8').catch(() => '')));
  if (same[0] !== same[1] || !existsSync(file)) await install();
  return file;
}

async function install(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) await copyFile(join(PINNED, name), join(FOLDER, name));
  await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER });
}
