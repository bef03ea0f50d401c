/** `make run`: the whole product on this machine, a first scan that is watched to its end, and then a service until Ctrl-C. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { startDemoSite } from './demo-site/server.ts';
import { holdFolder } from './lock.ts';
import { welcome } from './newcomer.ts';
import { freePort } from './port.ts';
import { startProduct } from './product.ts';
import { startStack } from './stack.ts';

const ROOT = join(import.meta.dirname, '..');
const HELP = `Usage: make run [URL=http://…]      (node local/main.ts [URL])

Starts API, operator and an embedded Kubernetes, document store, object store and nats-server on this machine, scans
the bundled demo site (or URL), shows the result, and goes on serving until Ctrl-C.

  --no-scan     only serve
  --pages N     pages of the first scan (default 15)
  --help        this text

State is kept in .curbcut/ and survives a restart. KUBECONFIG, MONGODB_URL, NATS_URL and S3_ENDPOINT name real
services to be used instead of the embedded ones. ALLOW_TARGETS is loopback where it is not set.`;

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
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const closers: (() => Promise<unknown>)[] = [];
let closing: Promise<never> | undefined;

/** Ends everything in the reverse order of its start, once, and then this process. */
function close(code: number): Promise<never> {
  closing ??= (async () => {
    for (const end of closers.reverse()) await end().catch((error: unknown) => console.error(error));
    process.exit(code);
  })();
  return closing;
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (closing === undefined) say('\nStopping.');
    void close(0);
  });
}

/** Runs the command line as a user would, and waits for it. */
function curbcut(environment: NodeJS.ProcessEnv, ...args: string[]): Promise<number> {
  const child = spawn(process.execPath, [join(ROOT, 'cli', 'main.ts'), ...args], { env: environment, stdio: 'inherit' });
  closers.push(async () => void child.kill('SIGTERM'));
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 2)));
}

try {
  await mkdir(logs, { recursive: true, mode: 0o700 });
  await chmod(state, 0o700);
  closers.push(await holdFolder(state));
  const logger = pino(
    { level: 'info', base: { process: 'local' } },
    pino.destination({ dest: join(logs, 'local.log'), append: true, sync: true }),
  );

  say('Starting Curbcut on this machine: for trying it out and for development, not for production.');
  if (process.env.KUBECONFIG) say(`KUBECONFIG is set: scans run on the cluster of ${process.env.KUBECONFIG}, not on the embedded one.`);
  const [stack, demo] = await Promise.all([
    startStack({ dataDir: state, environment: process.env, kubePort: await freePort(8090), logger }),
    startDemoSite({ port: await freePort(8081) }),
  ]);
  closers.push(
    () => stack.close(),
    () => demo.close(),
  );

  const environment: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: join(state, 'compile-cache'), ...process.env, ...stack.environment };
  if (!environment.ALLOW_TARGETS) {
    environment.ALLOW_TARGETS = '127.0.0.0/8,::1/128';
    say('ALLOW_TARGETS is not set: sites on this machine (loopback) may be scanned too.');
  }
  const environmentFile = join(state, 'env');
  const key = await welcome({
    mongodbUrl: environment.MONGODB_URL!,
    environmentFile,
    namespace: environment.CURBCUT_NAMESPACE ?? 'curbcut',
    logger,
  });
  const product = await startProduct({
    environment,
    logDir: logs,
    port: await freePort(Number(process.env.PORT) || 8080),
    onExit: (name, why) => {
      console.error(`The ${name} ended unexpectedly (${why}); ${join(logs, `${name}.log`)} says why.`);
      void close(1);
    },
  });
  closers.push(() => product.close());
  const lines = { CURBCUT_URL: product.url, CURBCUT_API_KEY: key, KUBECONFIG: environment.KUBECONFIG! };
  await writeFile(
    environmentFile,
    `${Object.entries(lines)
      .map(([name, value]) => `export ${name}='${value}'`)
      .join('\n')}\n`,
    { mode: 0o600 },
  );

  say(`API        ${product.url}   (reference: ${product.url}/docs)`);
  say(`Demo site  ${demo.url}`);
  if (stack.embedded.length > 0) say(`Embedded   ${stack.embedded.join(', ')}; state in .curbcut/`);

  if (!values['no-scan']) {
    const url = positionals[0] ?? demo.url;
    say(`\n$ curbcut scan ${url} --max-pages ${values.pages} --pdf .curbcut/report.pdf --export .curbcut/report.json`);
    await curbcut(
      { ...process.env, ...lines },
      'scan',
      url,
      '--max-pages',
      values.pages,
      '--pdf',
      join(state, 'report.pdf'),
      '--export',
      join(state, 'report.json'),
    );
  }
  if (closing === undefined)
    say(`
Curbcut goes on serving until Ctrl-C. From another terminal, in this folder:
  . .curbcut/env                                                  # CURBCUT_URL, CURBCUT_API_KEY, KUBECONFIG
  bin/curbcut scan ${demo.url}/ --min-score 90 --fail-on critical
  kubectl get accessibilityscans -w
  kubectl describe a11y`);
} catch (error) {
  if (closing === undefined) console.error(error instanceof Error ? error.message : error);
  await close(1);
}
