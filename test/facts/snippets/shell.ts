/**
 * Reads the commands of a snippet with a real bash: its programs are replaced by ones that only record their arguments. So quotes,
 * variables, loops and substitutions are read as a shell reads them, and nothing is changed or sent.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A call of a program. */
export interface Call {
  program: string;
  args: string[];
}

/** Programs of the system that may run as they are: they read and print only. */
const HARMLESS = ['awk', 'base64', 'cat', 'date', 'dirname', 'grep', 'head', 'id', 'mkdir', 'rm', 'sort', 'tr', 'uniq', 'wc'];
const LIMIT_MS = 60_000;

/** The variables that the pages tell people to set. */
const VARIABLES = {
  CURBCUT_URL: 'https://curbcut.example.com',
  CURBCUT_API_KEY: 'svc_live_0',
  PREVIEW: 'https://pr-12.preview.example.com/',
  TOKEN: 'token',
  OFFSET: '0',
  BYTES: '10',
  PICTURES_URL: 'https://s3.example.com/pictures',
  ACCOUNT: 'ACCOUNT',
  SCAN_ID: 'scan',
  KEY_ID: 'key',
  KNOWN_ISSUE_ID: 'issue',
  WEBHOOK_ID: 'webhook',
  DELIVERY_ID: 'delivery',
  NAMESPACE: 'curbcut-scans',
  NAME: 'schedule',
};

const RECORDER = `#!/bin/bash
printf '%s\\0' "PROGRAM" "$#" "$@" >>"$CALLS"
`;

/**
 * Runs a snippet.
 * @param programs those that are recorded; a name with a slash is a file of the checkout
 * @throws Error with the output of bash if the snippet is no shell script or calls another program
 */
export async function callsOf(script: string, programs: readonly string[]): Promise<Call[]> {
  const folder = mkdtempSync(join(tmpdir(), 'curbcut-snippet-'));
  try {
    const [bin, work, calls] = [join(folder, 'bin'), join(folder, 'work'), join(folder, 'calls')];
    mkdirSync(bin);
    mkdirSync(join(work, '.curbcut'), { recursive: true });
    writeFileSync(join(work, '.curbcut', 'env'), '');
    for (const program of programs) {
      const path = program.includes('/') ? join(work, program) : join(bin, program);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, RECORDER.replace('PROGRAM', program));
      chmodSync(path, 0o755);
    }
    for (const program of HARMLESS) {
      const path = [`/usr/bin/${program}`, `/bin/${program}`].find((one) => existsSync(one));
      if (path !== undefined) symlinkSync(path, join(bin, program));
    }
    const env = { ...VARIABLES, PATH: bin, HOME: work, CALLS: calls };
    await bash(script, work, env);
    if (!existsSync(calls)) return [];
    const words = readFileSync(calls, 'utf8').split('\0').slice(0, -1);
    const found: Call[] = [];
    for (let at = 0; at < words.length;) {
      const count = Number(words[at + 1]);
      found.push({ program: words[at]!, args: words.slice(at + 2, at + 2 + count) });
      at += 2 + count;
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function bash(script: string, cwd: string, env: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/bash', ['-u'], { cwd, env, stdio: ['pipe', 'ignore', 'pipe'], timeout: LIMIT_MS });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.on('error', reject);
    child.on('close', () => (errors === '' ? resolve() : reject(new Error(errors.trim()))));
    child.stdin.end(`${script}\nwait\n`);
  });
}
