import { expect } from 'chai';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createCredentials } from './credentials.ts';
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
users: [{name: u, user: {client-certificate: ../crt, client-key: /abs/key, exec: {apiVersion: v1, command: bin/login}}}]
`;

  it('resolves paths against the folder of their file, and searches bare commands in PATH', async () => {
    const path = await file('sub/config', minimal);
    const { kubeConfig, server, namespace } = loadKubeConfig(path);
    expect(server).to.equal('https://one:6443');
    expect(namespace).to.equal('default');
    expect(kubeConfig.getCurrentCluster()?.caFile).to.equal(join(folder, 'sub/ca.crt'));
    expect(kubeConfig.getCurrentUser()).to.include({ certFile: join(folder, 'crt'), keyFile: '/abs/key' });
    expect(kubeConfig.getCurrentUser()?.exec?.command).to.equal(join(folder, 'sub/bin/login'));
    const bare = await file('bare', minimal.replace('bin/login', 'login'));
    expect(loadKubeConfig(bare).kubeConfig.getCurrentUser()?.exec?.command).to.equal('login');
    const withToken = await file('sub/token-file', minimal.replace(/exec: .*/, 'tokenFile: token}}]'));
    expect(loadKubeConfig(withToken).kubeConfig.getCurrentUser()?.authProvider?.config.tokenFile).to.equal(join(folder, 'sub/token'));
  });

  it('merges several files, takes the first definition of a name, and skips files that do not exist', async () => {
    const first = await file('first', 'current-context: y\nclusters: [{name: c, cluster: {server: "https://first"}}]');
    const second = await file('second', `${minimal.replace('name: x, context', 'name: y, context')}`);
    const list = [join(folder, 'none'), first, second].join(delimiter);
    expect(loadKubeConfig(list).server).to.equal('https://first');
    expect(loadKubeConfig(list).kubeConfig.getCurrentUser()?.keyFile).to.equal('/abs/key');
  });

  it('takes TLS name, proxy and namespace from the current context', async () => {
    const cluster = 'server: "https://one", tls-server-name: api, proxy-url: "http://proxy:3128", insecure-skip-tls-verify: true';
    const text = minimal.replace(/server: .*(?=}}]\nusers)/, cluster).replace('user: u}', 'user: u, namespace: scans}');
    const { kubeConfig, proxyUrl, namespace } = loadKubeConfig(await file('config', text));
    expect({ proxyUrl, namespace }).to.deep.equal({ proxyUrl: 'http://proxy:3128', namespace: 'scans' });
    expect(kubeConfig.getCurrentCluster()).to.include({ tlsServerName: 'api', skipTLSVerify: true });
  });

  it('takes server, token file and namespace from the service account of a pod', async () => {
    const account = 'var/run/secrets/kubernetes.io/serviceaccount';
    await file(`${account}/token`, 'first');
    await file(`${account}/ca.crt`, 'CA');
    await file(`${account}/namespace`, 'curbcut\n');
    Object.assign(process.env, { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' });
    try {
      const loaded = loadKubeConfig(undefined, folder);
      expect(loaded).to.include({ server: 'https://[fd00::1]:443', namespace: 'curbcut' });
      const credentials = createCredentials(loaded, () => loadKubeConfig(undefined, folder));
      const { headers, tls } = await credentials.current();
      expect(headers).to.deep.equal({ authorization: 'Bearer first' });
      expect(String(tls.ca)).to.equal('CA');
      await file(`${account}/token`, 'second');
      credentials.renew();
      expect((await credentials.current()).headers).to.deep.equal({ authorization: 'Bearer second' });
    } finally {
      delete process.env['KUBERNETES_SERVICE_HOST'];
      delete process.env['KUBERNETES_SERVICE_PORT'];
    }
  });

  const mistakes: [string, string, string][] = [
    ['no context', 'apiVersion: v1', 'there is no current-context'],
    ['an unknown context', 'current-context: x', 'there is no context named "x"'],
    ['an unknown cluster', 'current-context: x\ncontexts: [{name: x, context: {cluster: c}}]', 'there is no cluster named "c"'],
    ['a cluster without a server', minimal.replace(/server: "[^"]*", /, ''), 'the cluster "c" has no server'],
    ['no YAML', 'a: [', 'is not YAML'],
    ['no mapping', '- a', 'is not a mapping'],
    ['nothing', '', 'is empty'],
    [
      'an auth-provider that client-node does not know',
      minimal.replace(/user: \{client.*/, 'user: {auth-provider: {name: openstack}}}]'),
      'auth-provider "openstack", which is not supported',
    ],
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
    const path = await file('config', 'users: [{token: secret}');
    expect(() => loadKubeConfig(path))
      .to.throw('is not YAML')
      .with.property('message')
      .that.not.contains('secret');
  });

  it('names a file that cannot be read', () => {
    expect(() => loadKubeConfig(join(folder, 'none'))).to.throw(`the kubeconfig ${join(folder, 'none')} cannot be read`);
  });
});
