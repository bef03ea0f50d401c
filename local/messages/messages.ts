/** The message server of one machine: the real nats-server as a child process, with its own accounts and users. */
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { createAccount, createOperator, createUser, encodeAccount, encodeOperator, encodeUser, fmtCreds, fromSeed } from '@nats-io/jwt';
import { lockFolder } from '../folder-lock.ts';
import { endStale, runServer, type ServerRun } from './server.ts';
import { hostInUrl } from '../../platform/listen.ts';

/**
 * The keys of the embedded nats-server: an operator, its accounts and the service's user. Created once, kept in one file. The seeds. All
 * are secrets.
 */
interface Seeds {
  operator: string;
  /** The account of the product's messages; its seed signs users. */
  account: string;
  /** nats-server requires a system account for its own events. */
  system: string;
  /** The user that API and operator connect as. */
  service: string;
}

interface Identity {
  operatorJwt: string;
  account: { id: string; jwt: string };
  system: { id: string; jwt: string };
  /** The `.creds` file of a user with all rights in the account. */
  credentials: Uint8Array;
  /** The account's seed (`SA…`), which signs users. */
  signingSeed: string;
}

/** An account JWT without limits allows nothing: each limit must be turned off explicitly. */
const UNLIMITED = { conn: -1, leaf: -1, subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true };

/** Reads the identity in a folder, or creates one. @throws Error if the file cannot be read */
async function loadOrCreateIdentity(folder: string): Promise<Identity> {
  const seeds = keptSeeds(join(folder, 'identity.json'));
  const [operator, account, system, service] = [seeds.operator, seeds.account, seeds.system, seeds.service].map((seed) =>
    fromSeed(Buffer.from(seed)),
  );
  const systemId = system!.getPublicKey();
  return {
    operatorJwt: await encodeOperator('curbcut-local', operator!, { system_account: systemId }),
    account: { id: account!.getPublicKey(), jwt: await encodeAccount('curbcut', account!, { limits: UNLIMITED }, { signer: operator! }) },
    system: { id: systemId, jwt: await encodeAccount('system', system!, { limits: UNLIMITED }, { signer: operator! }) },
    credentials: fmtCreds(await encodeUser('curbcut-service', service!, account!, {}, {}), service!),
    signingSeed: seeds.account,
  };
}

function keptSeeds(path: string): Seeds {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Seeds;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new Error(`${path} cannot be read. Remove it to create a new one.`, { cause: error });
  }
  const seed = (pair: { getSeed(): Uint8Array }): string => Buffer.from(pair.getSeed()).toString();
  const made: Seeds = {
    operator: seed(createOperator()),
    account: seed(createAccount()),
    system: seed(createAccount()),
    service: seed(createUser()),
  };
  writePrivately(path, JSON.stringify(made));
  return made;
}

/** Writes a file atomically, readable by its owner only. */
function writePrivately(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.${randomUUID()}`;
  writeFileSync(unfinished, content, { mode: 0o600 });
  renameSync(unfinished, path);
}

export interface Messages {
  /** `nats://host:port`; it does not change when the server restarts. */
  url: string;
  /** A `.creds` file of a user with all rights in the account; readable by its owner only. */
  credentialsFile: string;
  /** The account's seed (`SA…`), which signs the credentials of each scan. A secret. */
  signingSeed: string;
  close(): Promise<void>;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Starts nats-server and restarts it if it ends.
 * @param options.dataDir folder of the keys, so that credentials stay valid after a restart
 * @param options.binary default `nats-server`, found by PATH
 * @throws Error with the server's output if it does not start, or if another process uses the folder
 */
export async function startMessages(options: { host?: string; port?: number; dataDir: string; binary?: string }): Promise<Messages> {
  const { host = '127.0.0.1', binary = 'nats-server' } = options;
  const unlock = await lockFolder(options.dataDir, 'The message server');
  const folder = realpathSync(options.dataDir);
  const configPath = join(folder, 'nats-server.conf');
  const server = { binary, folder, configPath, host };
  const credentialsFile = join(folder, 'service.creds');

  let run: ServerRun;
  let identity: Identity;
  try {
    await endStale(folder, configPath);
    identity = await loadOrCreateIdentity(folder);
    writePrivately(credentialsFile, identity.credentials);
    run = await launch(server, options.port ?? 0, identity);
  } catch (error) {
    await unlock();
    throw error;
  }
  const { port } = run;
  const closing = new AbortController();
  const watching = keepRunning();

  async function keepRunning(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      const since = performance.now();
      if (closing.signal.aborted) return run.stop(); // It may just have been restarted.
      await run.ended;
      if (closing.signal.aborted) return;
      if (performance.now() - since > LONGEST_PAUSE_MS) pause = FIRST_PAUSE_MS;
      for (let up = false; !up;) {
        await delay(pause, undefined, { signal: closing.signal }).catch(() => {});
        if (closing.signal.aborted) return;
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
        // A start may fail temporarily (port in use, out of memory). Clients reconnect by themselves.
        up = await launch(server, port, identity).then(
          (next) => {
            run = next;
            return true;
          },
          () => false,
        );
      }
    }
  }

  return {
    url: `nats://${hostInUrl(host)}:${port}`,
    credentialsFile,
    signingSeed: identity.signingSeed,
    async close() {
      closing.abort();
      await run.stop();
      await watching;
      await unlock();
    },
  };
}

/** Starts the server on a port, with a new configuration file. */
async function launch(server: Parameters<typeof runServer>[0], port: number, identity: Identity): Promise<ServerRun> {
  const ports = join(server.folder, 'ports');
  rmSync(ports, { recursive: true, force: true });
  mkdirSync(ports, { mode: 0o700 });
  writePrivately(server.configPath, configuration(server.folder, server.host, port, identity));
  return runServer(server);
}

function configuration(folder: string, host: string, port: number, identity: Identity): string {
  const { operatorJwt, account, system } = identity;
  return `# Written at every start. Changes are lost.
listen: ${JSON.stringify(`${hostInUrl(host)}:${port === 0 ? -1 : port}`)}
server_name: "curbcut-local"
pid_file: ${JSON.stringify(join(folder, 'nats-server.pid'))}
ports_file_dir: ${JSON.stringify(join(folder, 'ports'))}
operator: ${operatorJwt}
system_account: ${system.id}
resolver: MEMORY
resolver_preload: {
  ${account.id}: ${account.jwt}
  ${system.id}: ${system.jwt}
}
max_payload: 65536
lame_duck_duration: "30s"
`;
}
