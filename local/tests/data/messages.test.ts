import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createUser, encodeUser, fmtCreds, fromSeed } from '@nats-io/jwt';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { expect } from 'chai';
import { startMessages, type Messages } from '../../messages/messages.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

describe('embedded message server', () => {
  let folder: string;
  const messages: Messages[] = [];
  const connections: NatsConnection[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'messages-'));
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) await connection.close();
    for (const started of messages.splice(0)) await started.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (): Promise<Messages> => {
    const started = await startMessages({ dataDir: folder });
    messages.push(started);
    return started;
  };
  const join_ = async (url: string, credentials: Uint8Array): Promise<NatsConnection> => {
    const connection = await connect({
      servers: url,
      authenticator: credsAuthenticator(credentials),
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
      timeout: 3000,
    });
    connections.push(connection);
    return connection;
  };
  const pid = (): number => Number(readFileSync(join(folder, 'nats-server.pid'), 'utf8'));
  const alive = (id: number): boolean => {
    try {
      return readlinkSync(`/proc/${id}/exe`) !== '';
    } catch {
      return false;
    }
  };
  /** Credentials that may publish on one subject only, signed by the account. */
  const scanCredentials = async (seed: string, subject: string, expiresInSeconds = 60): Promise<Uint8Array> => {
    const user = createUser();
    const limits = { pub: { allow: [subject], deny: [] }, sub: { allow: [], deny: ['>'] } };
    return fmtCreds(
      await encodeUser('scan', user, fromSeed(Buffer.from(seed)), limits, { exp: Math.floor(Date.now() / 1000) + expiresInSeconds }),
      user,
    );
  };

  it('grants the service all rights in its account', async () => {
    const { url, credentialsFile } = await start();
    expect(statSync(credentialsFile).mode & 0o777).to.equal(0o600);
    expect(statSync(join(folder, 'identity.json')).mode & 0o777).to.equal(0o600);
    const service = await join_(url, readFileSync(credentialsFile));
    const heard = service.subscribe('status.*.*', { max: 1 });
    service.publish('status.acme.1', 'hello');
    for await (const message of heard) expect([message.subject, message.string()]).to.deep.equal(['status.acme.1', 'hello']);
  });

  it('rejects clients without credentials or with those of another account', async () => {
    const { url } = await start();
    const errorOf = async (options: object): Promise<string> => {
      try {
        connections.push(await connect({ servers: url, reconnect: false, timeout: 3000, ...options }));
      } catch (error) {
        return (error as Error).name;
      }
      return 'let in';
    };
    expect(await errorOf({})).to.equal('AuthorizationError');
    const stranger = Buffer.from((await import('@nats-io/jwt')).createAccount().getSeed()).toString();
    expect(await errorOf({ authenticator: credsAuthenticator(await scanCredentials(stranger, 'progress.1')) })).to.equal(
      'AuthorizationError',
    );
  });

  it('limits the credentials of a scan to its subject and their expiry', async () => {
    const { url, credentialsFile, signingSeed } = await start();
    const service = await join_(url, readFileSync(credentialsFile));
    const received: string[] = [];
    service.subscribe('>', { callback: (_, message) => void (message.subject.startsWith('_INBOX') || received.push(message.subject)) });
    await service.flush();
    const pod = await join_(url, await scanCredentials(signingSeed, 'progress.mine', 2));
    const errors: string[] = [];
    const disconnected = (async () => {
      for await (const status of pod.status()) {
        if (status.type === 'error') errors.push(status.error.message);
        if (status.type === 'disconnect') return true;
      }
      return false;
    })();
    for (const subject of ['progress.other', 'status.acme.1', 'progress.mine']) pod.publish(subject);
    pod.subscribe('>', { callback: () => {} });
    await pod.flush();
    await service.flush();
    expect(received).to.deep.equal(['progress.mine']);
    expect(errors.join(' '))
      .to.contain('progress.other')
      .and.to.contain('status.acme.1')
      .and.to.match(/subscription/i);
    expect(await disconnected, 'disconnected at its expiry').to.equal(true);
  });

  it('accepts its credentials after a restart', async () => {
    const first = await start();
    const credentials = readFileSync(first.credentialsFile);
    const scan = await scanCredentials(first.signingSeed, 'progress.1');
    await messages.pop()!.close();
    const second = await start();
    expect(second.signingSeed).to.equal(first.signingSeed);
    await join_(second.url, credentials);
    await join_(second.url, scan);
  });

  it('restarts a killed server on the same port', async () => {
    const { url, credentialsFile } = await start();
    const service = await join_(url, readFileSync(credentialsFile));
    const before = pid();
    const back = (async () => {
      for await (const status of service.status()) if (status.type === 'reconnect') return status.server;
      return null;
    })();
    process.kill(before, 'SIGKILL');
    expect(url).to.contain(await back);
    expect(pid()).not.to.equal(before);
    expect(alive(before)).to.equal(false);
  });

  it('stops a server on close that is being restarted', async () => {
    const bin = mkdtempSync(join(tmpdir(), 'messages-bin-'));
    const binary = join(bin, 'nats-server');
    const starts = join(bin, 'starts');
    writeFileSync(binary, `#!/bin/sh\n[ -e ${starts} ] && touch ${starts}.again && sleep 0.5\ntouch ${starts}\nexec nats-server "$@"\n`, {
      mode: 0o755,
    });
    try {
      const started = await startMessages({ dataDir: folder, binary });
      process.kill(pid(), 'SIGKILL');
      while (!existsSync(`${starts}.again`)) await new Promise((resolve) => setTimeout(resolve, 10));
      await started.close();
      expect(alive(pid())).to.equal(false);
    } finally {
      rmSync(bin, { recursive: true });
    }
  });

  it('stops the server when its own process is killed', async () => {
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { startMessages } from ${JSON.stringify(join(ROOT, 'local/messages/messages.ts'))};
       await startMessages({ dataDir: ${JSON.stringify(folder)} });
       console.log('up');
       setInterval(() => {}, 1000);`,
    ]); // prettier-ignore
    await once(child.stdout, 'data');
    const server = pid();
    expect(alive(server)).to.equal(true);
    child.kill('SIGKILL');
    while (alive(server)) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it('stops a server that was left behind before it starts its own', async () => {
    await start();
    await messages.pop()!.close();
    const orphan = spawn('nats-server', ['-c', join(folder, 'nats-server.conf')], { stdio: 'ignore' });
    const ended = once(orphan, 'exit');
    while (!alive(safePid())) await new Promise((resolve) => setTimeout(resolve, 10));
    await start();
    await ended;
    expect(pid()).not.to.equal(orphan.pid);
  });

  const safePid = (): number => {
    try {
      return pid();
    } catch {
      return 0;
    }
  };

  it('does not stop another process that has the old process ID', async () => {
    await start();
    await messages.pop()!.close();
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore' });
    await once(bystander, 'spawn');
    writeFileSync(join(folder, 'nats-server.pid'), String(bystander.pid));
    await start();
    expect(alive(bystander.pid!)).to.equal(true);
    bystander.kill();
  });

  it('reports why the server does not start', async () => {
    const attempt = async (options: object): Promise<string> => {
      try {
        messages.push(await startMessages({ dataDir: folder, ...options }));
      } catch (error) {
        return (error as Error).message;
      }
      return 'started';
    };
    expect(await attempt({ binary: '/no/such/nats-server' }))
      .to.contain('/no/such/nats-server')
      .and.to.contain('apt-get install nats-server');
    const { url } = await start();
    const other = mkdtempSync(join(tmpdir(), 'messages-'));
    expect(await attempt({ dataDir: other, port: Number(new URL(url).port) })).to.contain('address already in use');
    expect(await attempt({})).to.contain(`(process ${process.pid})`);
    rmSync(other, { recursive: true, force: true });
  });
});
