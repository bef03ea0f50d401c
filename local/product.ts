/** Starts Curbcut's own processes, API and operator, as a cluster would: with a command, an environment and probes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { errorMessage } from '../platform/errors.ts';
import { readAddress } from '../core/scan/site.ts';
import { hostInUrl, ownAddress } from '../platform/listen.ts';

/** The addresses that scans on this machine may reach besides public sites. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** Loopback, and the host of a typed address if there is one. */
export function allowedTargets(typed = ''): { value: string; described: string } {
  const { url } = readAddress(typed);
  const named = URL.canParse(url) ? [new URL(url).hostname].filter((host) => host !== '') : [];
  return { value: [...LOOPBACK, ...named].join(','), described: ['loopback', ...named].join(' and ') };
}

/** Free ports on loopback. A free port: `preferred` if possible. */
export async function freePort(preferred = 0): Promise<number> {
  const attempt = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const probe = createServer();
      probe.once('error', reject);
      probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
        const { port: found } = probe.address() as { port: number };
        probe.close(() => resolve(found));
      });
    });
  return preferred === 0 ? attempt(0) : attempt(preferred).catch(() => attempt(0));
}

const ROOT = join(import.meta.dirname, '..');
/** A command prefix that stops a process when this one is killed (Linux, util-linux). */
const DIES_WITH_PARENT = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'TERM'] : [];
const READY_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;

type Name = 'api' | 'operator';

export interface ProductOptions {
  /** The environment of both processes; ports are added. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Where `api.log` and `operator.log` are written. */
  logDir: string;
  /** Options of Node.js, such as memory limits. */
  nodeFlags?: readonly string[];
  /** The API's port. Default: any free port. */
  port?: number;
  /** The address in links, if people reach the API by another one. */
  publicUrl?: string | undefined;
  /** Called when a process ends unexpectedly. */
  onExit?: (name: string, reason: string) => void;
}

export interface Product {
  /** The API's base address. */
  url: string;
  /** The addresses of the probes and metrics. */
  apiProbesUrl: string;
  operatorUrl: string;
  /** Stops both processes: the API first, so that it accepts no submission that would not run. */
  close(): Promise<void>;
  /** Kills a process without grace, as a crash would, and starts it again. */
  crash(name: Name): Promise<void>;
  /** Stops a process gracefully; `crash` starts it again. */
  stop(name: Name): Promise<void>;
}

interface Process {
  child: ChildProcess;
  ended: Promise<string>;
}

/** Starts one of the product's programs. Its output is appended to its log. */
function startProcess(name: Name, { environment, logDir, nodeFlags = [] }: ProductOptions, addresses: Record<string, string>): Process {
  const log = createWriteStream(join(logDir, `${name}.log`), { flags: 'a', mode: 0o600 });
  const [command = process.execPath, ...args] = [...DIES_WITH_PARENT, process.execPath, ...nodeFlags, join(ROOT, name, 'main.ts')];
  const child = spawn(command, args, {
    env: { ...environment, ...addresses },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In its own process group: Ctrl-C must reach only this process, which then stops the others in order.
    detached: true,
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const ended = new Promise<string>((resolve) => child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`)));
  void ended.then(() => log.end());
  return { child, ended };
}

async function end(one: Process | undefined): Promise<void> {
  if (!one) return;
  one.child.kill('SIGTERM');
  const kill = setTimeout(() => one.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await one.ended;
  clearTimeout(kill);
}

/** Waits for the readiness probe of a process. @throws Error that names the log if it ends or does not become ready */
async function waitUntilReady(name: Name, probesUrl: string, log: string, isRunning: () => boolean): Promise<void> {
  const until = performance.now() + READY_TIMEOUT_MS;
  let last = 'no response';
  while (performance.now() < until) {
    if (!isRunning()) throw new Error(`The ${name} exited while starting. See ${log}.`);
    try {
      const answer = await fetch(`${probesUrl}/readyz`, { signal: AbortSignal.timeout(2000) });
      if (answer.ok) return;
      last = await answer.text();
    } catch (error) {
      last = errorMessage(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The ${name} did not become ready within ${READY_TIMEOUT_MS / 1000} s (${last}). See ${log}.`);
}

/** Starts API and operator and waits until both are ready. @throws Error that names the log if one does not become ready */
export async function startProduct(options: ProductOptions): Promise<Product> {
  const port = options.port ?? (await freePort());
  const metricsPorts = { api: await freePort(), operator: await freePort() };
  const host = hostInUrl(ownAddress(options.environment.HOST ?? '127.0.0.1'));
  const url = `http://${host}:${port}`;
  const PUBLIC_BASE_URL = options.publicUrl ?? url;
  const addresses = {
    api: { PORT: String(port), PUBLIC_BASE_URL, METRICS_PORT: String(metricsPorts.api) },
    operator: { PUBLIC_BASE_URL, METRICS_PORT: String(metricsPorts.operator) },
  };
  const probeUrl = (name: Name): string => `http://${host}:${metricsPorts[name]}`;
  const running = new Map<string, Process>();
  let closing = false;

  const start = (name: Name): void => {
    const self = startProcess(name, options, addresses[name]);
    running.set(name, self);
    void self.ended.then((reason) => {
      if (running.get(name) !== self) return;
      running.delete(name);
      if (!closing) options.onExit?.(name, reason);
    });
  };
  const close = async (): Promise<void> => {
    closing = true;
    await end(running.get('api'));
    await end(running.get('operator'));
  };

  const ready = (name: Name): Promise<void> =>
    waitUntilReady(name, probeUrl(name), join(options.logDir, `${name}.log`), () => running.has(name));

  try {
    start('api');
    start('operator');
    await Promise.all([ready('api'), ready('operator')]);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url,
    apiProbesUrl: probeUrl('api'),
    operatorUrl: probeUrl('operator'),
    close,
    stop(name) {
      const one = running.get(name);
      running.delete(name);
      return end(one);
    },
    async crash(name) {
      const one = running.get(name);
      if (one) {
        running.delete(name);
        one.child.kill('SIGKILL');
        await one.ended;
      }
      start(name);
      await ready(name);
    },
  };
}
