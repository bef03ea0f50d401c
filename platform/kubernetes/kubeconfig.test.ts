import { expect } from 'chai';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadKubeConfig } from './kubeconfig.ts';

describe('kubeconfig', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-kubeconfig-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function file(name: string, text: string) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), text);
    return join(folder, name);
  }

  const minimal = `
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://one:6443", certificate-authority: ca.crt}}]
users: [{name: u, user: {client-certificate: ../crt, client-key-data: S0VZ, client-key: none}}]
`;

  it('reads files relative to the kubeconfig, and prefers data to a file', async () => {
    const path = await file('sub/config', minimal);
    await file('sub/ca.crt', 'CA');
    await file('crt', 'CERT');
    const config = loadKubeConfig(path);
    expect(config).to.include({ server: 'https://one:6443', namespace: 'default' });
    expect(await config.authenticate()).to.deep.equal({
      token: null,
      tls: { ca: 'CA', cert: 'CERT', key: 'KEY', servername: undefined, rejectUnauthorized: undefined },
    });
  });

  it('takes TLS name, verification, namespace and token from the current context, and a token file before the token', async () => {
    const cluster = 'server: "https://one", tls-server-name: api, insecure-skip-tls-verify: true, extensions: []';
    const text = minimal.replace(/server: .*(?=}}]\nusers)/, cluster).replace('user: u}', 'user: u, namespace: scans}');
    const withUser = (user: string) => file('config', text.replace(/user: \{client.*/, `user: {${user}}}]`));
    const loaded = loadKubeConfig(await withUser('token: secret'));
    expect(loaded.namespace).to.equal('scans');
    const credential = await loaded.authenticate();
    expect(credential.token).to.equal('secret');
    expect(credential.tls).to.include({ servername: 'api', rejectUnauthorized: false });
    await file('token', 'renewed\n');
    const fromFile = loadKubeConfig(await withUser('token: secret, tokenFile: token'));
    expect((await fromFile.authenticate()).token).to.equal('renewed');
    await withUser('token: rotated');
    expect((await loaded.authenticate()).token, 'rotated in the kubeconfig itself').to.equal('rotated');
  });

  it('takes server, token and namespace from the service account of a pod', async () => {
    const account = 'var/run/secrets/kubernetes.io/serviceaccount';
    await file(`${account}/token`, 'secret\n');
    await file(`${account}/ca.crt`, 'CA');
    await file(`${account}/namespace`, 'curbcut\n');
    Object.assign(process.env, { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' });
    try {
      const config = loadKubeConfig(undefined, `${folder}/`);
      expect(config).to.include({ server: 'https://[fd00::1]:443', namespace: 'curbcut' });
      expect(await config.authenticate()).to.deep.equal({ token: 'secret', tls: { ca: 'CA' } });
    } finally {
      delete process.env['KUBERNETES_SERVICE_HOST'];
      delete process.env['KUBERNETES_SERVICE_PORT'];
    }
    expect(() => loadKubeConfig(undefined, `${folder}/`)).to.throw('no Kubernetes API is configured');
  });

  const withUser = (user: string) =>
    minimal.replace(/user: \{client.*/, `user: {${user}}}]`).replace('certificate-authority: ca.crt', 'extensions: []');

  it('takes the credential of a plug-in until it ends, and says how the plug-in failed', async () => {
    const plugin = await file('plugin', '');
    const answer = (expirationTimestamp: string) =>
      JSON.stringify({ status: { token: 'of-plugin', clientCertificateData: 'CERT', clientKeyData: 'KEY', expirationTimestamp } });
    const respond = (script: string) => writeFile(plugin, `#!/bin/sh\necho run >>${folder}/runs\n${script}\n`, { mode: 0o755 });
    await chmod(plugin, 0o755);
    await respond(`echo '${answer('2099-01-01T00:00:00Z')}'`);
    const config = loadKubeConfig(await file('config', withUser(`exec: {command: ${plugin}}`)));
    const credential = await config.authenticate();
    expect(credential).to.deep.include({ token: 'of-plugin' });
    expect(credential.tls).to.include({ cert: 'CERT', key: 'KEY' });
    await config.authenticate();
    expect(await readFile(join(folder, 'runs'), 'utf8')).to.equal('run\n');

    await respond(`echo '${answer('2000-01-01T00:00:00Z')}'`);
    const expired = loadKubeConfig(join(folder, 'config'));
    await expired.authenticate();
    await expired.authenticate();
    expect(await readFile(join(folder, 'runs'), 'utf8')).to.equal('run\n'.repeat(3));

    await respond('echo no session >&2; exit 1');
    const failed = await loadKubeConfig(join(folder, 'config')).authenticate().catch((error: Error) => error.message); // prettier-ignore
    expect(failed).to.equal(`${folder}/config: the credential plug-in of the user "u" failed: no session`);
  });

  it('takes the token of an OpenID provider', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none' })}.${part({ exp: 4_000_000_000 })}.x`;
    const provider = `auth-provider: {name: oidc, config: {client-id: a, id-token: ${token}, refresh-token: b, idp-issuer-url: "https://idp"}}`;
    const config = loadKubeConfig(await file('config', withUser(provider)));
    expect((await config.authenticate()).token).to.equal(token);
  });

  const mistakes: [string, string, string][] = [
    ['no context', 'apiVersion: v1', 'there is no current-context'],
    ['an unknown context', 'current-context: x', 'there is no context named "x"'],
    ['an unknown cluster', 'current-context: x\ncontexts: [{name: x, context: {cluster: c}}]', 'there is no cluster named "c"'],
    ['no YAML', 'a: [', 'is not YAML'],
    ['no mapping', '- a', 'is not a mapping'],
    ['nothing', '', 'is not a mapping'],
    [
      'a password',
      minimal.replace(/user: \{client.*/, 'user: {username: a, password: b}}]'),
      'the user "u" has username, password, which is not supported',
    ],
    ['a proxy', minimal.replace('server:', 'proxy-url: "http://proxy", server:'), 'the cluster "c" has proxy-url, which is not supported'],
  ];
  for (const [what, text, problem] of mistakes) {
    it(`names the file and the mistake: ${what}`, async () => {
      const path = await file('config', text);
      expect(() => loadKubeConfig(path))
        .to.throw(problem)
        .with.property('message')
        .that.contains(path);
    });
  }

  it('does not quote a file that is not YAML', async () => {
    const path = await file('config', 'users: [{token: secret}\n  secret');
    expect(() => loadKubeConfig(path))
      .to.throw('is not YAML')
      .with.property('message')
      .that.not.contains('secret');
  });

  it('names a file that cannot be read', () => {
    expect(() => loadKubeConfig(join(folder, 'none'))).to.throw(`the file ${join(folder, 'none')} cannot be read`);
  });
});
