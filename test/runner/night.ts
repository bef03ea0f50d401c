/** When the tests with all their cases (`NIGHTLY=1`) last passed on this machine. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const RECORD = join(ROOT, '.curbcut', 'nightly.json');

/** By command: the time as ISO 8601, and the commit. */
export type Nights = Readonly<Record<string, { at: string; commit: string }>>;
const COMMANDS = ['make test', 'make test-cluster'];

const read = (): Nights => (existsSync(RECORD) ? (JSON.parse(readFileSync(RECORD, 'utf8')) as Nights) : {});

export function recordNight(command: string): void {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
  mkdirSync(dirname(RECORD), { recursive: true });
  writeFileSync(RECORD, `${JSON.stringify({ ...read(), [command]: { at: new Date().toISOString(), commit } }, null, 2)}\n`);
}

/** A sentence for each command. */
export const nightLines = (nights: Nights): string =>
  COMMANDS.map((command) => {
    const last = nights[command];
    const when = last === undefined ? 'has not passed on this machine' : `last passed on ${last.at.slice(0, 10)} (commit ${last.commit})`;
    return `NIGHTLY=1 ${command} ${when}.`;
  }).join('\n');

export const lastNight = (): string => nightLines(read());
