/** Starts Curbcut's own processes, API and operator, as a cluster would: by their command, their environment and their probes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './port.ts';

const ROOT = join(import.meta.dirname, '..');
/** A prefix under which a process is told to stop when this one is killed without a chance to say so (Linux, util-linux). */
const DIES_WITH_PARENT = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'TERM'] : [];
const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;

export interface ProductOptions {
  /** Everything that both processes read; ports are added here. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Where `api.log` and `operator.log` are written. */
  logDir: string;
  /** What Node.js itself is told, such as limits of its memory. */
  nodeFlags?: readonly string[];
  /** The API's port; absent: any free one. */
  port?: number;
  /** Called when a process ends although nobody asked it to. */
  onExit?: (name: string, why: string) => void;
}

export interface Product {
  /** The API's base address. */
  url: string;
  /** Where the operator answers probes and Prometheus. */
  operatorUrl: string;
  /** Ends both processes, the API first so that no submission is taken that nobody will run. */
  close(): Promise<void>;
  /** Ends a process as a crash would, without grace, and starts it anew. */
  crash(name: 'api' | 'operator'): Promise<void>;
}

interface Process {
  child: ChildProcess;
  ended: Promise<string>;
}

/** Starts API and operator and waits until both say that they are ready. @throws with the end of its log if one does not become ready */
export async function startProduct(options: ProductOptions): Promise<Product> {
  const port = options.port ?? (await freePort());
  const metricsPort = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const addresses = { api: { PORT: String(port), PUBLIC_BASE_URL: url }, operator: { METRICS_PORT: String(metricsPort) } };
  const probes = { api: `${url}/readyz`, operator: `http://127.0.0.1:${metricsPort}/readyz` };
  const running = new Map<string, Process>();
  let closing = false;

  const start = (name: 'api' | 'operator'): void => {
    const log = createWriteStream(join(options.logDir, `${name}.log`), { flags: 'a', mode: 0o600 });
    const [command = process.execPath, ...args] = [
      ...DIES_WITH_PARENT,
      process.execPath,
      ...(options.nodeFlags ?? []),
      join(ROOT, name, 'main.ts'),
    ];
    const child = spawn(command, args, {
      env: { ...options.environment, ...addresses[name] },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Of its own group, so that Ctrl-C reaches us alone and we end it in order.
      detached: true,
    });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const ended = new Promise<string>((resolve) => child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`)));
    const self = { child, ended };
    running.set(name, self);
    void ended.then((why) => {
      log.end();
      if (running.get(name) === self) {
        running.delete(name);
        if (!closing) options.onExit?.(name, why);
      }
    });
  };

  const stop = async (name: string): Promise<void> => {
    const one = running.get(name);
    if (!one) return;
    one.child.kill('SIGTERM');
    const impatient = setTimeout(() => one.child.kill('SIGKILL'), STOP_WITHIN_MS);
    await one.ended;
    clearTimeout(impatient);
  };
  const close = async (): Promise<void> => {
    closing = true;
    await stop('api');
    await stop('operator');
  };

  const ready = async (name: 'api' | 'operator'): Promise<void> => {
    const until = Date.now() + READY_WITHIN_MS;
    let last = 'no answer';
    while (Date.now() < until) {
      if (!running.has(name)) throw new Error(`The ${name} ended while it was starting; ${join(options.logDir, `${name}.log`)} says why.`);
      try {
        const answer = await fetch(probes[name], { signal: AbortSignal.timeout(2000) });
        if (answer.ok) return;
        last = await answer.text();
      } catch (error) {
        last = error instanceof Error ? error.message : String(error);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(
      `The ${name} did not become ready within ${READY_WITHIN_MS / 1000} s (${last}); see ${join(options.logDir, `${name}.log`)}.`,
    );
  };

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
    operatorUrl: `http://127.0.0.1:${metricsPort}`,
    close,
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
