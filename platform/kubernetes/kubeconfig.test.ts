import { expect } from 'chai';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
    expect(loadKubeConfig(path)).to.deep.equal({
      server: 'https://one:6443',
      namespace: 'default',
      token: null,
      tls: { ca: 'CA', cert: 'CERT', key: 'KEY', servername: undefined, rejectUnauthorized: undefined },
    });
  });

  it('takes TLS name, verification, namespace and token from the current context, and a token file before the token', async () => {
    const cluster = 'server: "https://one", tls-server-name: api, insecure-skip-tls-verify: true, extensions: []';
    const text = minimal.replace(/server: .*(?=}}]\nusers)/, cluster).replace('user: u}', 'user: u, namespace: scans}');
    const withUser = (user: string) => file('config', text.replace(/user: \{client.*/, `user: {${user}}}]`));
    const loaded = loadKubeConfig(await withUser('token: secret'));
    expect(loaded).to.include({ namespace: 'scans', token: 'secret' });
    expect(loaded.tls).to.include({ servername: 'api', rejectUnauthorized: false });
    await file('token', 'renewed\n');
    expect(loadKubeConfig(await withUser('token: secret, tokenFile: token'))).to.include({ token: 'renewed' });
  });

  it('takes server, token and namespace from the service account of a pod', async () => {
    const account = 'var/run/secrets/kubernetes.io/serviceaccount';
    await file(`${account}/token`, 'secret\n');
    await file(`${account}/ca.crt`, 'CA');
    await file(`${account}/namespace`, 'curbcut\n');
    Object.assign(process.env, { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' });
    try {
      expect(loadKubeConfig(undefined, `${folder}/`)).to.deep.equal({
        server: 'https://[fd00::1]:443',
        namespace: 'curbcut',
        token: 'secret',
        tls: { ca: 'CA' },
      });
    } finally {
      delete process.env['KUBERNETES_SERVICE_HOST'];
      delete process.env['KUBERNETES_SERVICE_PORT'];
    }
    expect(() => loadKubeConfig(undefined, `${folder}/`)).to.throw('no Kubernetes API is configured');
  });

  const mistakes: [string, string, string][] = [
    ['no context', 'apiVersion: v1', 'there is no current-context'],
    ['an unknown context', 'current-context: x', 'there is no context named "x"'],
    ['an unknown cluster', 'current-context: x\ncontexts: [{name: x, context: {cluster: c}}]', 'there is no cluster named "c"'],
    ['no YAML', 'a: [', 'is not YAML'],
    ['no mapping', '- a', 'is not a mapping'],
    ['nothing', '', 'is not a mapping'],
    [
      'a credential plug-in',
      minimal.replace(/user: \{client.*/, 'user: {exec: {command: login}, username: a}}]'),
      'the user "u" has exec, username, which is not supported',
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
