import { expect } from 'chai';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { loadConfig } from './config.ts';

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
users: [{name: u, user: {client-certificate: ../crt, client-key: /abs/key, tokenFile: token, exec: {apiVersion: v1, command: bin/login}}}]
`;

  it('resolves paths against the folder of the file that has them, and leaves bare commands to PATH', async () => {
    const path = await file('sub/config', minimal);
    const { cluster, user, namespace } = loadConfig(path);
    expect(cluster).to.deep.equal({ server: 'https://one:6443', 'certificate-authority': join(folder, 'sub/ca.crt') });
    expect(user).to.deep.include({
      'client-certificate': join(folder, 'crt'),
      'client-key': '/abs/key',
      tokenFile: join(folder, 'sub/token'),
    });
    expect(user.exec?.command).to.equal(join(folder, 'sub/bin/login'));
    expect(namespace).to.equal('default');
    const bare = await file('bare', minimal.replace('bin/login', 'login'));
    expect(loadConfig(bare).user.exec?.command).to.equal('login');
  });

  it('merges several files, the first to name a thing wins, and skips those that are not there', async () => {
    const first = await file('first', 'current-context: y\nclusters: [{name: c, cluster: {server: "https://first"}}]');
    const second = await file('second', `${minimal.replace('name: x, context', 'name: y, context')}`);
    const list = [join(folder, 'none'), first, second].join(delimiter);
    expect(loadConfig(list).cluster.server).to.equal('https://first');
  });

  const mistakes: [string, string, string][] = [
    ['no context', 'apiVersion: v1', 'there is no current-context'],
    ['a context that is not there', 'current-context: x', 'there is no context named "x"'],
    ['a cluster that is not there', 'current-context: x\ncontexts: [{name: x, context: {cluster: c}}]', 'there is no cluster named "c"'],
    ['no YAML', 'a: [', 'is not YAML'],
    ['nothing', '', 'holds no configuration'],
    [
      'an auth-provider',
      minimal.replace(/user: \{client.*/, 'user: {auth-provider: {name: oidc}}}]'),
      'auth-provider "oidc", which is not supported',
    ],
  ];
  for (const [what, text, problem] of mistakes) {
    it(`says where the mistake is: ${what}`, async () => {
      const path = await file('config', text);
      expect(() => loadConfig(path))
        .to.throw(problem)
        .with.property('message')
        .that.contains(path);
    });
  }

  it('says that a file cannot be read', () => {
    expect(() => loadConfig(join(folder, 'none'))).to.throw(`the kubeconfig ${join(folder, 'none')} cannot be read`);
  });
});
