/** One run of the nats-server binary: started so that it ends with this process, however that ends. */
import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface ServerRun {
  /** The port that it listens on. */
  port: number;
  /** Resolves when it has ended. */
  ended: Promise<void>;
  /** Ends it, at last by force. */
  stop(): Promise<void>;
}

const READY_MS = 10_000;
const STOP_MS = 5_000;
const POLL_MS = 20;

/**
 * A shell that starts the server and ends it when its own standard input closes, which the system does for us when this
 * process is gone. The server is in a session of its own, so that Ctrl-C reaches those who use it first.
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
 * Starts the server with a configuration file and waits until it answers.
 * @throws Error with what it said where it does not start
 */
export async function runServer(options: { binary: string; folder: string; configPath: string; host: string }): Promise<ServerRun> {
  const { binary, folder, configPath, host } = options;
  const child = spawn('/bin/sh', ['-c', GUARD, 'nats-guard', binary, '-c', configPath], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said = `${said}${bytes.toString()}`.slice(-4000)));
  child.stdin.on('error', () => {}); // the guard ended first
  let over = false;
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  }).then(() => {
    over = true;
    child.stdin.destroy();
  });

  async function stop(): Promise<void> {
    const pid = runningPid(folder, configPath);
    child.stdin.end();
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
    if (!over && pid !== null) process.kill(pid, 'SIGKILL');
    await ended;
  }

  const deadline = Date.now() + READY_MS;
  while (!over && Date.now() < deadline) {
    const port = listeningPort(folder, binary, configPath);
    if (port !== null && (await greets(host, port))) return { port, ended, stop };
    await Promise.race([delay(POLL_MS), ended]);
  }
  const why = over ? 'ended at once' : `did not answer within ${READY_MS / 1000} s`;
  await stop();
  const missing = said === '' || /not found|No such file/.test(said);
  const advice = missing ? '\nIs nats-server installed? "apt-get install nats-server", or set NATS_URL to one that runs.' : '';
  throw new Error(`${binary} ${why}:\n${said.trim() || '(it said nothing)'}${advice}`);
}

/** The process of the pid file, if it lives and is a server with our configuration file: ids are given again. */
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

/** Ends a server that an earlier life left behind. */
export async function endStale(folder: string, configPath: string): Promise<void> {
  const pid = runningPid(folder, configPath);
  if (pid !== null) {
    process.kill(pid, 'SIGTERM');
    const deadline = Date.now() + STOP_MS;
    while (runningPid(folder, configPath) === pid) {
      if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
      await delay(POLL_MS);
    }
  }
  rmSync(join(folder, 'nats-server.pid'), { force: true });
}

/** The port that the running server says it took, in the file it writes for that. */
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

/** True if somebody there greets as a NATS server does. */
function greets(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: host === '0.0.0.0' ? '127.0.0.1' : host, port });
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
