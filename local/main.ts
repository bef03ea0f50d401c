/** `make run`: starts the whole product on this machine, follows a first scan to its end, and serves until Ctrl-C. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { errorMessage } from '../platform/errors.ts';
import { DEMO_EMAIL, ensureDemoOrganisation, type DemoOrganisation } from './demo-organisation.ts';
import { startDemoSite } from '../demo-site/server.ts';
import { lockFolder } from './folder-lock.ts';
import { freePort } from './port.ts';
import { startProduct } from './product.ts';
import { startStack, type Stack } from './stack.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

const ROOT = join(import.meta.dirname, '..');
const HELP = `Usage: make run [URL=http://…]      (node local/main.ts [URL])

Starts the API, the operator, nats-server, a mail catcher and an embedded Kubernetes, document store and object store on this
machine, scans the bundled demo site (or URL), prints the result, and serves until Ctrl-C.

  --no-scan     serve only, without a first scan
  --pages N     maximum number of pages of the first scan (default 15)
  --help        print this help

State is kept in .curbcut/ and survives a restart. To use a real service instead of an embedded one, set KUBECONFIG,
MONGODB_URL, NATS_URL, S3_ENDPOINT or SMTP_URL. ALLOW_TARGETS defaults to loopback.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'no-scan': { type: 'boolean', default: false },
    pages: { type: 'string', default: '15' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}

const state = join(ROOT, '.curbcut');
const logs = join(state, 'logs');
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const closers: (() => Promise<unknown>)[] = [];
let closing: Promise<never> | undefined;

/** Stops everything once, in the reverse order of its start, and exits. */
function close(code: number): Promise<never> {
  closing ??= (async () => {
    for (const stop of closers.reverse()) await stop().catch((error: unknown) => console.error(error));
    process.exit(code);
  })();
  return closing;
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (closing === undefined) print('\nStopping.');
    void close(0);
  });
}

/** Runs the command line as a user would, and waits for its exit code. */
function curbcut(environment: NodeJS.ProcessEnv, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [join(ROOT, 'cli', 'main.ts'), ...args], { env: environment, stdio: 'inherit' });
  closers.push(async () => void child.kill('SIGTERM'));
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 2)));
}

function environmentOf(stack: Stack): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: join(state, 'compile-cache'), ...process.env, ...stack.environment };
  if (!environment.ALLOW_TARGETS) {
    environment.ALLOW_TARGETS = '127.0.0.0/8,::1/128';
    print('ALLOW_TARGETS is not set: scans of this machine (loopback) are allowed.');
  }
  return environment;
}

/** Starts the product and, at the same time, ensures that there are an API key and a user. */
async function serve(environment: NodeJS.ProcessEnv): Promise<{ url: string } & DemoOrganisation> {
  const [demo, product] = await Promise.allSettled([
    ensureDemoOrganisation({
      environment,
      environmentFile: join(state, 'env'),
      passwordFile: join(state, 'demo-password'),
      namespace: environment.CURBCUT_NAMESPACE ?? DEFAULT_NAMESPACE,
      keyName: 'make run',
    }),
    startProduct({
      environment,
      logDir: logs,
      port: await freePort(Number(process.env.PORT) || 8080),
      onExit: (name, reason) => {
        console.error(`The ${name} stopped unexpectedly (${reason}). See ${join(logs, `${name}.log`)}.`);
        void close(1);
      },
    }),
  ]);
  if (product.status === 'fulfilled') closers.push(() => product.value.close());
  if (demo.status === 'rejected') throw demo.reason;
  if (product.status === 'rejected') throw product.reason;
  return { url: product.value.url, ...demo.value };
}

async function firstScan(url: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const scan = (folder: string): string[] => [
    ...['scan', url, '--max-pages', values.pages],
    ...['--pdf', join(folder, 'report.pdf'), '--export', join(folder, 'report.json')],
  ];
  print(`\n$ curbcut ${scan('.curbcut').join(' ')}`);
  await curbcut(environment, scan(state));
}

try {
  await mkdir(logs, { recursive: true, mode: 0o700 });
  await chmod(state, 0o700);
  closers.push(await lockFolder(state, 'Curbcut'));
  const logger = pino(
    { level: 'info', base: { process: 'local' } },
    pino.destination({ dest: join(logs, 'local.log'), append: true, sync: true }),
  );

  print('Starting Curbcut on this machine. Use it to try Curbcut out and for development, not for production.');
  if (process.env.KUBECONFIG) print(`KUBECONFIG is set: scans run on the cluster of ${process.env.KUBECONFIG}.`);
  const [stack, demo] = await Promise.all([
    startStack({
      dataDir: state,
      environment: process.env,
      kubePort: await freePort(8090),
      inboxPort: await freePort(8025),
      logger,
    }),
    startDemoSite({ port: await freePort(8081) }),
  ]);
  closers.push(
    () => stack.close(),
    () => demo.close(),
  );

  const environment = environmentOf(stack);
  const { url, key, password } = await serve(environment);
  const exported = {
    CURBCUT_URL: url,
    CURBCUT_API_KEY: key,
    KUBECONFIG: environment.KUBECONFIG!,
    CURBCUT_DASHBOARD_URL: `${url}/dashboard`,
    ...(stack.inboxUrl && { CURBCUT_INBOX_URL: stack.inboxUrl }),
  };
  const lines = Object.entries(exported).map(([name, value]) => `export ${name}='${value}'\n`);
  await writeFile(join(state, 'env'), lines.join(''), { mode: 0o600 });

  print('');
  print(`Public page  ${url}/   (enter ${demo.url}/ and any e-mail address)`);
  print(`Inbox        ${stack.inboxUrl ?? 'SMTP_URL is set: mails go to that server.'}`);
  print(`Dashboard    ${url}/dashboard`);
  print(`  sign in as ${DEMO_EMAIL}, password ${password ?? '(the one that you chose)'}`);
  print(`API          ${url}   (documentation: ${url}/docs)`);
  print(`  key        ${key}`);
  print(`Demo site    ${demo.url}/`);
  if (stack.embedded.length > 0) print(`Embedded     ${stack.embedded.join(', ')}; state in .curbcut/`);

  if (!values['no-scan']) await firstScan(positionals[0] ?? demo.url, { ...process.env, ...exported });
  if (closing === undefined)
    print(`
Curbcut is serving. Press Ctrl-C to stop it. From another terminal, in this folder:
  . .curbcut/env                                                  # CURBCUT_URL, CURBCUT_API_KEY, KUBECONFIG …
  bin/curbcut scan ${demo.url}/ --min-score 90 --fail-on critical
  kubectl get accessibilityscans -w
  kubectl describe a11y`);
} catch (error) {
  if (closing === undefined) console.error(errorMessage(error));
  await close(1);
}
