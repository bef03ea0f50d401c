import { expect } from 'chai';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UserConfig } from './config.ts';
import { createCredentials } from './credentials.ts';

describe('credentials for Kubernetes', () => {
  let folder: string;
  let now: number;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-credentials-'));
    now = Date.UTC(2026, 0, 1);
  });
  afterEach(() => rm(folder, { recursive: true }));

  const credentials = (user: UserConfig, cluster: object = {}) =>
    createCredentials({ cluster: { server: 'https://one', ...cluster }, user, namespace: 'default' }, () => now);
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  /** A plug-in that counts its runs, and answers with what `output` says in terms of `$runs`. */
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

  it('gives certificates from the file itself and from files, and a token', async () => {
    await writeFile(join(folder, 'ca'), 'CA');
    const given = credentials(
      { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY'), token: 't' },
      { 'certificate-authority': join(folder, 'ca') },
    );
    expect(await given.current()).to.deep.equal({ headers: { authorization: 'Bearer t' }, tls: { ca: 'CA', cert: 'CERT', key: 'KEY' } });
  });

  it('signs in by name and password, and as another', async () => {
    const given = credentials({ username: 'a', password: 'b', as: 'jane', 'as-groups': ['x', 'y'] });
    expect((await given.current()).headers).to.deep.equal({
      authorization: `Basic ${base64('a:b')}`,
      'impersonate-user': 'jane',
      'impersonate-group': ['x', 'y'],
    });
  });

  it('reads a token file again after a minute, or when told that the token was refused', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'one\n');
    const given = credentials({ tokenFile, token: 'not me' });
    const token = async () => (await given.current()).headers['authorization'];
    expect(await token()).to.equal('Bearer one');
    await writeFile(tokenFile, 'two\n');
    now += 59_000;
    expect(await token()).to.equal('Bearer one');
    now += 1_000;
    expect(await token()).to.equal('Bearer two');
    await writeFile(tokenFile, 'three\n');
    given.renew();
    expect(await token()).to.equal('Bearer three');
  });

  it('says which credential file cannot be read, and reads it when it is there', async () => {
    const tokenFile = join(folder, 'token');
    const given = credentials({ tokenFile });
    const problem = await given.current().catch((error: Error) => error.message);
    expect(problem).to.contain(`the credential file ${tokenFile} cannot be read`);
    await writeFile(tokenFile, 'one');
    expect((await given.current()).headers['authorization']).to.equal('Bearer one');
  });

  it('runs a plug-in once for many requests, and again when its credential ends', async () => {
    const exec = await plugin(
      `echo '{"status":{"token":"run-'$runs'","clientCertificateData":"CERT","clientKeyData":"KEY","expirationTimestamp":"2026-01-01T01:00:00Z"}}'`,
    );
    const given = credentials(
      { exec: { ...exec, provideClusterInfo: true, env: [{ name: 'A', value: 'b' }] } },
      { 'certificate-authority-data': 'Q0E=' },
    );
    const [first, second] = await Promise.all([given.current(), given.current()]);
    expect(first).to.deep.equal({ headers: { authorization: 'Bearer run-1' }, tls: { ca: 'CA', cert: 'CERT', key: 'KEY' } });
    expect(second).to.deep.equal(first);
    expect(await runs()).to.equal(1);
    expect(JSON.parse(await readFile(join(folder, 'info'), 'utf8'))).to.deep.equal({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: 'https://one', 'certificate-authority-data': 'Q0E=' } },
    });
    now += 3_590_000;
    expect((await given.current()).headers['authorization']).to.equal('Bearer run-2');
  });

  it('says why a plug-in failed, without what it printed, and tries it again', async () => {
    const exec = await plugin(
      `if [ $runs = 1 ]; then echo 'secret'; echo 'session expired' >&2; exit 1; fi; echo '{"status":{"token":"t"}}'`,
    );
    const given = credentials({ exec });
    const problem = await given.current().catch((error: Error) => error.message);
    expect(problem).to.contain('session expired').and.not.to.contain('secret');
    expect((await given.current()).headers['authorization']).to.equal('Bearer t');
  });

  it('says how to install a plug-in that is not there, and refuses one that needs a terminal', async () => {
    const missing = { apiVersion: 'v1', command: join(folder, 'none'), installHint: 'see the manual' };
    expect(await credentials({ exec: missing }).current().catch(String)).to.contain('see the manual');
    expect(
      await credentials({ exec: { ...missing, interactiveMode: 'Always' } })
        .current()
        .catch(String),
    ).to.contain('needs a terminal');
  });

  it('does not repeat what a plug-in printed that is no JSON', async () => {
    const exec = await plugin(`echo 'secret token'`);
    expect(await credentials({ exec }).current().catch(String))
      .to.contain('did not print JSON')
      .and.not.to.contain('secret');
  });
});
