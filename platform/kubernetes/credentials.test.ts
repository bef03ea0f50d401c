import { expect } from 'chai';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { createCredentials, type Credentials } from './credentials.ts';
import { toLoadedConfig, type UserEntry } from './kubeconfig.ts';

describe('credentials for Kubernetes', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-credentials-'));
    mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1) });
  });
  afterEach(async () => {
    mock.timers.reset();
    await rm(folder, { recursive: true });
  });

  const credentials = (user: UserEntry, cluster: object = {}) => {
    const load = () => toLoadedConfig({ server: 'https://one', ...cluster }, user);
    return createCredentials(load(), load);
  };
  /** The headers and certificates that would be sent, as text. */
  const current = async (given: Credentials) => {
    const { headers, tls } = await given.current();
    const text = Object.entries(tls).map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString() : value]);
    return { headers, tls: Object.fromEntries(text.filter(([, value]) => value !== undefined)) as Record<string, unknown> };
  };
  const authorization = async (given: Credentials) => (await given.current()).headers['authorization'];
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  /** A plug-in that counts its runs and runs `output`, in which `$runs` is the number of the run. */
  async function plugin(output: string) {
    const command = join(folder, 'login');
    await writeFile(
      command,
      `#!/bin/sh\necho run >> '${folder}/runs'\nruns=$(wc -l < '${folder}/runs' | tr -d ' ')\nprintf '%s' "$KUBERNETES_EXEC_INFO" > '${folder}/info'\n${output}\n`,
    );
    await chmod(command, 0o755);
    return { apiVersion: 'client.authentication.k8s.io/v1', command };
  }
  const runs = async () => (await readFile(join(folder, 'runs'), 'utf8')).trim().split('\n').length;

  it('returns certificates from data and from files, and a token', async () => {
    await writeFile(join(folder, 'ca'), 'CA');
    const given = credentials(
      { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY'), token: 't' },
      { 'certificate-authority': join(folder, 'ca') },
    );
    expect(await current(given)).to.deep.equal({ headers: { authorization: 'Bearer t' }, tls: { ca: 'CA', cert: 'CERT', key: 'KEY' } });
  });

  it('prefers data to a file', async () => {
    const cluster = { 'certificate-authority': join(folder, 'none'), 'certificate-authority-data': base64('CA') };
    expect((await current(credentials({}, cluster))).tls).to.deep.equal({ ca: 'CA' });
  });

  it('returns the TLS server name and whether to verify certificates', async () => {
    const cluster = { 'tls-server-name': 'api', 'insecure-skip-tls-verify': true };
    expect((await current(credentials({}, cluster))).tls).to.deep.equal({ servername: 'api', rejectUnauthorized: false });
  });

  it('authenticates with user name and password, and impersonates', async () => {
    const given = credentials({ username: 'a', password: 'b', as: 'jane', 'as-uid': '7', 'as-groups': ['x', 'y'] });
    expect((await given.current()).headers).to.deep.equal({
      authorization: `Basic ${base64('a:b')}`,
      'impersonate-user': 'jane',
      'impersonate-uid': '7',
      'impersonate-group': ['x', 'y'],
    });
  });

  it('sends the ID token of an OIDC auth-provider', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none' })}.${part({ exp: Date.UTC(2026, 0, 2) / 1000 })}.c2lnbmF0dXJl`;
    const given = credentials({ 'auth-provider': { name: 'oidc', config: { 'id-token': token } } });
    expect(await authorization(given)).to.equal(`Bearer ${token}`);
  });

  it('reads a token file again after a minute, and when the server rejects the token', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'one\n');
    const given = credentials({ tokenFile, token: 'not me' });
    expect(await authorization(given)).to.equal('Bearer one');
    await writeFile(tokenFile, 'two\n');
    mock.timers.tick(59_000);
    expect(await authorization(given)).to.equal('Bearer one');
    mock.timers.tick(31_000);
    expect(await authorization(given)).to.equal('Bearer two');
    await writeFile(tokenFile, 'three\n');
    given.renew();
    expect(await authorization(given)).to.equal('Bearer three');
  });

  it('reads certificate files again', async () => {
    const files = { 'client-certificate': join(folder, 'cert'), 'client-key': join(folder, 'key') };
    for (const path of Object.values(files)) await writeFile(path, 'one');
    const given = credentials(files);
    const first = await given.current();
    expect((await given.current()).tls).to.equal(first.tls);
    for (const path of Object.values(files)) await writeFile(path, 'two');
    mock.timers.tick(30_000);
    expect((await current(given)).tls).to.deep.equal({ cert: 'two', key: 'two' });
  });

  it('names a credential file that cannot be read, and reads it once it exists', async () => {
    const tokenFile = join(folder, 'token');
    const given = credentials({ tokenFile });
    const problem = await given.current().catch((error: Error) => error.message);
    expect(problem).to.contain(`the credential file ${tokenFile} cannot be read`);
    await writeFile(tokenFile, 'one');
    expect(await authorization(given)).to.equal('Bearer one');
  });

  it('runs a plug-in once for many requests, and again when its credential has expired', async () => {
    const exec = await plugin(
      `echo '{"status":{"token":"run-'$runs'","clientCertificateData":"CERT","clientKeyData":"KEY","expirationTimestamp":"2026-01-01T01:00:00Z"}}'`,
    );
    const given = credentials(
      { exec: { ...exec, provideClusterInfo: true, env: [{ name: 'A', value: 'b' }] } },
      { 'certificate-authority-data': 'Q0E=' },
    );
    const [first, second] = await Promise.all([current(given), current(given)]);
    expect(first).to.deep.equal({ headers: { authorization: 'Bearer run-1' }, tls: { ca: 'CA', cert: 'CERT', key: 'KEY' } });
    expect(second).to.deep.equal(first);
    mock.timers.tick(3_590_000);
    expect(await authorization(given)).to.equal('Bearer run-1');
    expect(await runs()).to.equal(1);
    expect(JSON.parse(await readFile(join(folder, 'info'), 'utf8'))).to.deep.equal({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: 'https://one', 'certificate-authority-data': 'Q0E=' } },
    });
    mock.timers.tick(40_000);
    expect(await authorization(given)).to.equal('Bearer run-2');
    given.renew();
    expect(await authorization(given)).to.equal('Bearer run-3');
  });

  it('explains why a plug-in failed, without what it printed, and runs it again', async () => {
    const exec = await plugin(
      `if [ $runs = 1 ]; then echo 'secret'; echo 'session expired' >&2; exit 1; fi; echo '{"status":{"token":"t"}}'`,
    );
    const given = credentials({ exec });
    const problem = await given.current().catch((error: Error) => error.message);
    expect(problem).to.contain('session expired').and.not.to.contain('secret');
    expect(await authorization(given)).to.equal('Bearer t');
  });

  it('explains how to install a missing plug-in, and rejects one that needs a terminal', async () => {
    const missing = { apiVersion: 'v1', command: join(folder, 'none'), installHint: 'see the manual' };
    expect(await credentials({ exec: missing }).current().catch(String)).to.contain('see the manual');
    expect(
      await credentials({ exec: { ...missing, interactiveMode: 'Always' } })
        .current()
        .catch(String),
    ).to.contain('needs a terminal');
  });

  it('does not quote the output of a plug-in that is not a credential, and runs the plug-in again', async () => {
    const exec = await plugin(
      `if [ $runs = 1 ]; then echo 'secret token'; elif [ $runs = 2 ]; then echo '{}'; else echo '{"status":{"token":"t"}}'; fi`,
    );
    const given = credentials({ exec });
    for (const _ of ['text', 'JSON'])
      expect(await given.current().catch(String))
        .to.contain('did not print JSON with a credential')
        .and.not.to.contain('secret');
    expect(await authorization(given)).to.equal('Bearer t');
  });
});
