/**
 * `make run`, and the program of the image `try`: starts the whole product on this machine or in this container, follows a first scan to
 * its end, and serves until Ctrl-C.
 */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { errorMessage } from '../platform/errors.ts';
import { DEMO_EMAIL, ensureDemoOrganisation, type DemoOrganisation } from './demo-organisation.ts';
import { startDemoSite } from '../demo-site/server.ts';
import { lookAround, missingIn, namedAddress, startFront } from './container.ts';
import { lockFolder } from './folder-lock.ts';
import { allowedTargets, freePort, startProduct } from './product.ts';
import { startStack, type Stack } from './stack.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

const ROOT = join(import.meta.dirname, '..');
/** The image sets it: people reach one port of the container, and read other instructions. */
const IN_CONTAINER = process.env.CURBCUT_CONTAINER === 'true';
const USAGE = IN_CONTAINER
  ? 'docker run --rm -p 127.0.0.1:8080:8080 IMAGE [http://…]'
  : 'make run [URL=http://…]      (node local/main.ts [URL])';
const HELP = `Usage: ${USAGE}

Starts the API, the operator, nats-server, a mail catcher and an embedded Kubernetes, document store and object store
${IN_CONTAINER ? 'in this container, behind port 8080' : 'on this machine'}, scans the bundled demo site (or URL), prints the result, and serves until Ctrl-C.

  --no-scan     serve only, without a first scan
  --pages N     maximum number of pages of the first scan (default 15)
  --help        print this help

${
  IN_CONTAINER
    ? 'State is kept in /data and ends with the container, unless it is a volume. PUBLIC_BASE_URL (http://127.0.0.1:8080) is the address\nthat you open.'
    : 'State is kept in .curbcut/ and survives a restart.'
} To use a real service instead of an embedded one, set KUBECONFIG,
MONGODB_URL, NATS_URL, S3_ENDPOINT or SMTP_URL. ALLOW_TARGETS defaults to loopback and the host of URL.`;

function readArguments() {
  try {
    const read = parseArgs({
      allowPositionals: true,
      options: {
        'no-scan': { type: 'boolean', default: false },
        pages: { type: 'string', default: '15' },
        help: { type: 'boolean', default: false },
      },
    });
    if (read.positionals.length > 1) throw new Error(`One URL can be scanned, not ${read.positionals.length}`);
    return read;
  } catch (error) {
    // The rest of Node.js' message is about arguments that start with a hyphen.
    console.error(`${errorMessage(error).split('. ')[0]!}. Usage: ${USAGE}`);
    return process.exit(2);
  }
}

const { values, positionals } = readArguments();
if (values.help) {
  console.log(HELP);
  process.exit(0);
}

const state = process.env.CURBCUT_STATE ?? join(ROOT, '.curbcut');
const publicUrl = IN_CONTAINER ? (process.env.PUBLIC_BASE_URL ?? 'http://127.0.0.1:8080') : undefined;
const logs = join(state, 'logs');
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const closers: (() => Promise<unknown>)[] = [];
let closing: Promise<never> | undefined;

/** `docker stop` kills a container after 10 s. Nothing in it needs the time: its state ends with it, or survives a crash. */
const STOP_MS = 8000;

/** Stops everything once, in the reverse order of its start, and exits. */
function close(code: number): Promise<never> {
  if (IN_CONTAINER && closing === undefined) setTimeout(() => process.exit(code), STOP_MS).unref();
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

/** Runs the command line as a user would, and waits for its exit code. In a container its links get the address that people open. */
function curbcut(environment: NodeJS.ProcessEnv, args: readonly string[]): Promise<number> {
  const command = [join(ROOT, 'cli', 'main.ts'), ...args];
  const child = spawn(process.execPath, command, { env: environment, stdio: ['inherit', IN_CONTAINER ? 'pipe' : 'inherit', 'inherit'] });
  if (child.stdout) createInterface(child.stdout).on('line', (line) => print(line.replaceAll(environment.CURBCUT_URL!, publicUrl!)));
  closers.push(async () => void child.kill('SIGTERM'));
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 2)));
}

function environmentOf(stack: Stack): NodeJS.ProcessEnv {
  // Docker sets the proxy of the machine in every container. What runs here is reached without it.
  const { HTTPS_PROXY: _url, NO_PROXY: _direct, ...given } = process.env;
  const environment: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: join(state, 'compile-cache'), ...given, ...stack.environment };
  if (!environment.ALLOW_TARGETS) {
    const { value, described } = allowedTargets(positionals[0]);
    environment.ALLOW_TARGETS = value;
    print(`ALLOW_TARGETS is not set: scans of ${described} are allowed, and of public sites.`);
  }
  // People reach a real object store by its own address.
  if (publicUrl !== undefined && !process.env.S3_ENDPOINT) environment.S3_PUBLIC_ENDPOINT ??= publicUrl;
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
      // In a container the front has the port that people know.
      port: await freePort(IN_CONTAINER ? 0 : Number(process.env.PORT) || 8080),
      publicUrl,
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
  const files = (folder: string): string[] => ['--pdf', join(folder, 'report.pdf'), '--export', join(folder, 'report.json')];
  // Nobody sees the files of a container; its dashboard has both.
  const scan = (folder: string): string[] => [
    ...['scan', url, '--max-pages', values.pages],
    ...(IN_CONTAINER ? ['--min-score', '90', '--fail-on', 'critical'] : files(folder)),
  ];
  print('\nPages with scripts are looked at twice, some seconds apart.');
  print(`$ curbcut ${scan('.curbcut').join(' ')}`);
  await curbcut(environment, scan(state));
}

const servingHere = (demo: string): string => `
Curbcut is serving. Press Ctrl-C to stop it. From another terminal, in this folder:
  . .curbcut/env                                                  # CURBCUT_URL, CURBCUT_API_KEY, KUBECONFIG …
  bin/curbcut scan ${demo}/ --min-score 90 --fail-on critical
  kubectl get accessibilityscans -w
  kubectl describe a11y`;

const servingInContainer = (url: string, key: string, demo: string): string => `
Curbcut is serving on ${url}. Press Ctrl-C to stop it. From another terminal:
  curl -s -X POST ${url}/v1/ci/scans -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' -d '{"url": "${demo}/"}'`;

/** Starts what a container needs besides: one port for all that browsers open. @returns the addresses that people open */
async function openToPeople(stack: Stack, api: string, demo: string, environment: NodeJS.ProcessEnv) {
  if (publicUrl === undefined) return { url: api, inbox: stack.inboxUrl, demo };
  const { S3_ENDPOINT, S3_BUCKET } = environment;
  const objects = process.env.S3_ENDPOINT ? null : { address: S3_ENDPOINT!, bucket: S3_BUCKET! };
  const front = await startFront({
    host: process.env.HOST ?? '127.0.0.1',
    port: Number(process.env.PORT) || 8080,
    ...{ api, inbox: stack.inboxUrl, demo, objects },
  });
  closers.push(() => front.close());
  return { url: publicUrl, inbox: stack.inboxUrl && namedAddress('inbox', publicUrl), demo: namedAddress('demo', publicUrl) ?? demo };
}

try {
  const missing = IN_CONTAINER ? missingIn(lookAround([state, '/tmp'])) : [];
  if (missing.length > 0) throw new Error(missing.join('\n'));
  await mkdir(logs, { recursive: true, mode: 0o700 });
  if (!IN_CONTAINER) await chmod(state, 0o700); // A mounted folder belongs to another user.
  closers.push(await lockFolder(state, 'Curbcut'));
  const logger = pino(
    { level: 'info', base: { process: 'local' } },
    pino.destination({ dest: join(logs, 'local.log'), append: true, sync: true }),
  );

  print(
    `Starting Curbcut ${IN_CONTAINER ? 'in this container' : 'on this machine'}. Use it to try Curbcut out and for development, not for production.`,
  );
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
  const { url: apiUrl, key, password } = await serve(environment);
  const people = await openToPeople(stack, apiUrl, demo.url, environment);
  const { url } = people;
  const exported = {
    CURBCUT_URL: url,
    CURBCUT_API_KEY: key,
    KUBECONFIG: environment.KUBECONFIG!,
    // MONGODB_URL would be a real database for the next start.
    CURBCUT_MONGODB_URL: environment.MONGODB_URL!,
    CURBCUT_DASHBOARD_URL: `${url}/dashboard`,
    ...(people.inbox && { CURBCUT_INBOX_URL: people.inbox }),
  };
  const lines = Object.entries(exported).map(([name, value]) => `export ${name}='${value}'\n`);
  await writeFile(join(state, 'env'), lines.join(''), { mode: 0o600 });

  print('');
  print(`Public page  ${url}/   (enter ${demo.url}/ and any e-mail address)`);
  print(
    `Inbox        ${people.inbox ?? (stack.inboxUrl === null ? 'SMTP_URL is set: mails go to that server.' : 'only with a PUBLIC_BASE_URL of 127.0.0.1')}`,
  );
  print(`Dashboard    ${url}/dashboard`);
  print(`  sign in as ${DEMO_EMAIL}, password ${password ?? '(the one that you chose)'}`);
  print(`API          ${url}   (documentation: ${url}/docs)`);
  print(`  key        ${key}`);
  print(`Demo site    ${people.demo}/${IN_CONTAINER ? `   (scans name it ${demo.url}/)` : ''}`);
  if (stack.embedded.length > 0) print(`Embedded     ${stack.embedded.join(', ')}; state in ${IN_CONTAINER ? state : '.curbcut'}/`);

  if (!values['no-scan']) await firstScan(positionals[0] ?? demo.url, { ...process.env, ...exported, CURBCUT_URL: apiUrl });
  if (closing === undefined) print(IN_CONTAINER ? servingInContainer(url, key, demo.url) : servingHere(demo.url));
} catch (error) {
  if (closing === undefined) console.error(errorMessage(error));
  await close(1);
}
