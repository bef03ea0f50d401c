/** One run of the nats-server binary. It ends when this process ends, even if this process is killed. */
import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ownAddress } from '../../platform/listen.ts';

export interface ServerRun {
  /** The port that it listens on. */
  port: number;
  /** Resolves when it has ended. */
  ended: Promise<void>;
  /** Stops it with SIGTERM, and with SIGKILL after five seconds. */
  stop(): Promise<void>;
}

const READY_MS = 10_000;
const STOP_MS = 5_000;
const POLL_MS = 20;

/**
 * A shell that starts the server and stops it when its standard input closes, which happens when this process ends. The
 * server has its own session, so that Ctrl-C does not stop it before its clients.
 */
const GUARD = `exec 3<&0
"$@" </dev/null 3<&- &
server=$!
(read -r _ <&3; kill -TERM $server) 2>/dev/null &
guard=$!
exec 3<&-
wait $server
code=$?
kill $guard 2>/dev/null
exit $code`;

/**
 * Starts the server with a configuration file and waits until it accepts connections.
 * @throws Error with the server's output if it does not start
 */
export async function runServer(options: { binary: string; folder: string; configPath: string; host: string }): Promise<ServerRun> {
  const { binary, folder, configPath, host } = options;
  const child = spawn('/bin/sh', ['-c', GUARD, 'nats-guard', binary, '-c', configPath], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  let output = '';
  child.stderr.on('data', (bytes: Buffer) => (output = `${output}${bytes.toString()}`.slice(-4000)));
  child.stdin.on('error', () => {}); // The shell may end first.
  let over = false;
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  }).then(() => {
    over = true;
    child.stdin.destroy();
  });

  async function stop(): Promise<void> {
    child.stdin.end();
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
    // The shell and the server are a group of their own.
    if (!over && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await ended;
  }

  const deadline = performance.now() + READY_MS;
  while (!over && performance.now() < deadline) {
    const port = listeningPort(folder, binary, configPath);
    if (port !== null && (await greets(host, port))) return { port, ended, stop };
    await Promise.race([delay(POLL_MS), ended]);
  }
  const why = over ? 'exited' : `did not accept connections within ${READY_MS / 1000} s`;
  await stop();
  const missing = output === '' || /not found|No such file/.test(output);
  const advice = missing ? '\nIs nats-server installed? "apt-get install nats-server", or set NATS_URL to a running one.' : '';
  throw new Error(`${binary} ${why}:\n${output.trim() || '(no output)'}${advice}`);
}

/** The process of the pid file, if it is running with our configuration file: process IDs are reused. */
export function runningPid(folder: string, configPath: string): number | null {
  try {
    const pid = Number(readFileSync(join(folder, 'nats-server.pid'), 'utf8'));
    const [executable = '', ...parameters] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const isServer = readlinkSync(`/proc/${pid}/exe`).replace(' (deleted)', '').split('/').at(-1)!.startsWith('nats-server');
    return isServer && executable !== '' && parameters.includes(configPath) ? pid : null;
  } catch {
    return null;
  }
}

/** Stops a server that an earlier process left behind. */
export async function endStale(folder: string, configPath: string): Promise<void> {
  const pid = runningPid(folder, configPath);
  if (pid !== null) {
    process.kill(pid, 'SIGTERM');
    const deadline = performance.now() + STOP_MS;
    while (runningPid(folder, configPath) === pid) {
      if (performance.now() > deadline) process.kill(pid, 'SIGKILL');
      await delay(POLL_MS);
    }
  }
  rmSync(join(folder, 'nats-server.pid'), { force: true });
}

/** The port in the ports file of the running server. */
function listeningPort(folder: string, binary: string, configPath: string): number | null {
  const pid = runningPid(folder, configPath);
  if (pid === null) return null;
  try {
    const name = `${binary.split('/').at(-1)!}_${pid}.ports`;
    const { nats } = JSON.parse(readFileSync(join(folder, 'ports', name), 'utf8')) as { nats: string[] };
    return Number(new URL(nats[0]!).port);
  } catch {
    return null;
  }
}

/** Whether a NATS server answers there. */
function greets(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: ownAddress(host), port });
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => resolve(false));
    socket.once('data', (bytes: Buffer) => end(bytes.toString().startsWith('INFO ')));
  });
}
