/** Checks calls of programs as their own programs read them. Each returns what is wrong, or null. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run as admin } from '../../../api/admin/run.ts';
import { run } from '../../../cli/run.ts';
import { ROOT } from '../../gitops/manifests.ts';
import type { Call } from './shell.ts';
import { readFile } from './blocks.ts';

const LIMIT_MS = 120_000;
/** No service listens there. */
const NOWHERE = 'http://127.0.0.1:9';

interface Outcome {
  code: number;
  output: string;
}

function execute(program: string, args: readonly string[], env: Record<string, string> = {}, cwd = ROOT): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: LIMIT_MS, maxBuffer: 16 << 20, env: { PATH: process.env['PATH']!, HOME: cwd, ...env } };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
    child.stdin!.end();
  });
}

type Check = (args: readonly string[], call: Call) => Promise<string | null>;

/** Without a service, a scanner or files every command ends soon; only a mistake in the arguments ends with a hint at its help. */
const curbcut: Check = async (args) => {
  const home = mkdtempSync(join(tmpdir(), 'curbcut-snippet-cli-'));
  let output = '';
  const terminal = { live: false, color: false, unicode: false, columns: () => 100, write: (text: string) => void (output += text) };
  const waits = ['logout', 'completion'].includes(args[0]!) ? [] : ['--max-wait', '0'];
  try {
    await run([...args, ...waits], {
      stdout: terminal,
      stderr: terminal,
      environment: {
        PATH: process.env['PATH'],
        HOME: home,
        CURBCUT_URL: NOWHERE,
        CURBCUT_API_KEY: 'svc_live_0',
        KUBECONFIG: '/nowhere',
        CI: 'true',
      },
      version: '0.0.0',
      scanner: '/nowhere',
      signal: AbortSignal.timeout(LIMIT_MS),
      sleep: async () => undefined,
      monotonic: () => performance.now(),
      newId: randomUUID,
      readSecret: async () => '',
    });
    return /^Try: .*--help$/m.test(output) ? output : null;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
};

const OPENED = 'the arguments are right';
/** Parses the arguments as `curbcut-admin` does, and stops where it would open the database. */
const curbcutAdmin: Check = async (args) => {
  let output = '';
  const streams = { out: () => undefined, err: (text: string) => void (output += text) };
  const opened = () => Promise.reject(new Error(OPENED));
  const code = await admin(args, streams, opened).catch((error: unknown) => (String(error).includes(OPENED) ? 0 : 1));
  return code === 0 ? null : output;
};

/** The options of kubectl are those of others; a program of ours that it runs in a pod is checked. */
const kubectl: Check = async (args, call) => {
  const inner = args.slice(args.indexOf('--') + 1);
  return inner[0] === 'curbcut-admin' ? curbcutAdmin(inner.slice(1), call) : null;
};

interface Schema {
  properties?: Record<string, Schema>;
}

/** The values of our chart exist. */
const helm: Check = async (args) => {
  const schema = JSON.parse(readFile('helm/values.schema.json')) as Schema;
  if (!args.some((word) => word === './helm' || word.endsWith('/charts/curbcut'))) return null;
  const sets = args.flatMap((word, at) => (word.startsWith('--set') ? args[at + 1]!.split(',') : []));
  for (const set of sets) {
    let at: Schema | undefined = schema;
    for (const name of set.split('=')[0]!.split('.')) at = at?.properties?.[name.replace(/\[\d+\]$/, '')];
    if (at === undefined) return `the chart has no value ${set}`;
  }
  return null;
};

const make: Check = async (args) => {
  const unknown = args
    .filter((arg) => arg.includes('='))
    .map((arg) => arg.split('=')[0]!)
    .filter((name) => !readFile('Makefile').includes(`$(${name})`));
  if (unknown.length > 0) return `the Makefile does not use ${unknown.join(', ')}`;
  const { code, output } = await execute('make', ['--dry-run', ...args]);
  return code === 0 ? null : output;
};

const file: Check = async (args) => (existsSync(join(ROOT, args[0]!)) ? null : `there is no ${args[0]}`);
const nothing: Check = async () => null;

/** Checks of the calls in snippets by program. A program that is not here fails the test. */
export const PROGRAMS: Readonly<Record<string, Check>> = {
  curbcut,
  'bin/curbcut': curbcut,
  'curbcut-admin': curbcutAdmin,
  kubectl,
  helm,
  make,
  node: async (args, call) => (args[0] === 'curbcut.cjs' ? curbcut(args.slice(1), call) : file(args, call)),
  'node_modules/.bin/mocha': file,
  '.ci/run': nothing,
  /** An image of ours is one that tools/images builds, and its command is ours. */
  docker: async (args, call) => {
    const at = args.findIndex((arg) => /^(curbcut\.dev|registry\.example\.com\/curbcut)\//.test(arg));
    if (at === -1) return null;
    const name = /\/([^/:]+):/.exec(args[at]!)?.[1] ?? '';
    const [, names = ''] = /^# NAME is (.*?);/m.exec(readFile('tools/images'))!;
    if (!names.split(/, | or /).includes(name)) return `tools/images builds no ${name}`;
    return args[at + 1] === 'curbcut' ? PROGRAMS['curbcut']!(args.slice(at + 2), call) : null;
  },
  // Programs of others, whose options are theirs.
  ...Object.fromEntries(
    ['cosign', 'git', 'go', 'kind', 'nsc', 'npm', 'npx', 'openapi-python-client', 'openssl', 'sha256sum'].map((name) => [name, nothing]),
  ),
};
