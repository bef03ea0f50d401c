/** What a cluster without RBAC cannot answer, with a script in the place of kubectl. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { curbcut, type Output } from '../service.ts';

describe('kubectl curbcut, with limited permissions', () => {
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-kubectl-'))));
  after(() => rm(folder, { recursive: true }));
  /** Runs a command; `script` is the body of kubectl, which logs its arguments. */
  async function plugin(args: string[], script: string): Promise<Output & { calls: string[] }> {
    const log = join(folder, 'calls');
    await writeFile(log, '');
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\necho "$*" >>'${log}'\n${script}\n`, { mode: 0o755 });
    const environment = { PATH: [folder, process.env['PATH']].join(delimiter) };
    const ran = await curbcut(args, { program: 'kubectl curbcut', environment });
    return { ...ran, calls: (await readFile(log, 'utf8')).trimEnd().split('\n') };
  }
  const forbidden = (verb: string): string =>
    `echo 'Error from server (Forbidden): accessibilityscans.curbcut.dev is forbidden: User "ada" cannot ${verb} resource "accessibilityscans"' >&2; exit 1`;

  it('passes on in one sentence what is forbidden: exit code 2', async () => {
    const ran = await plugin(['scan', 'https://shop.example/'], forbidden('create'));
    expect(ran).to.deep.include({ code: 2, stdout: '', slept: [] });
    expect(ran.stderr).to.equal(
      'kubectl curbcut: kubectl: accessibilityscans.curbcut.dev is forbidden: User "ada" cannot create resource "accessibilityscans" (Forbidden)\n',
    );
    expect(ran.calls).to.have.length(1);
  });

  it("lists the queues of the context's namespace if those of all are forbidden", async () => {
    const ran = await plugin(['queue'], `case "$*" in *--all-namespaces*) ${forbidden('list')};; *) echo '{"items":[]}';; esac`);
    expect(ran).to.include({ code: 0, stdout: 'No queues.\n', stderr: '' });
    expect(ran.calls).to.have.length(2);
  });

  it('does not look beyond the namespace of -n', async () => {
    const ran = await plugin(['queue', '-n', 'shop'], forbidden('list'));
    expect(ran.code).to.equal(2);
    expect(ran.calls).to.deep.equal(['--namespace=shop get scanqueues.curbcut.dev --request-timeout=30s -o json']);
  });

  it('passes the options of kubectl on, and keeps --request-timeout if it is given', async () => {
    const ran = await plugin(['list', '--as', 'ada', '--request-timeout=5s'], `echo '{"items":[]}'`);
    expect(ran.calls).to.deep.equal(['--as=ada --request-timeout=5s get accessibilityscans.curbcut.dev -o json']);
  });

  it('creates a scan once if the answer to the first request was lost', async () => {
    // The first create fails after the server has stored it, the second one finds the name taken.
    const stored = join(folder, 'stored');
    const script = `
case "$*" in
create*) if [ -e '${stored}' ]; then cat >/dev/null; echo 'Error from server (AlreadyExists): taken' >&2; exit 1; fi
  sed 's/"metadata":{/"status":{"phase":"done","conditions":[]},"metadata":{"namespace":"shop","uid":"u","creationTimestamp":"2026-03-02T10:00:00Z",/' >'${stored}'
  echo 'Unable to connect to the server: net/http: TLS handshake timeout' >&2; exit 1;;
*watch*) printf '{"type":"ADDED","object":'; cat '${stored}'; echo '}';;
*) cat '${stored}';;
esac`;
    const ran = await plugin(['scan', 'https://shop.example/', '--name', 'shop'], script);
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stderr).to.include('TLS handshake timeout; retrying in 0.5 s.');
    expect(ran.calls.filter((call) => call.startsWith('create'))).to.have.length(2);
    await rm(stored);
  });

  for (const args of [
    ['run', 'schedule/--all'],
    ['run', 'schedule/-lapp=shop'],
    ['cancel', 'a11y/--all-namespaces'],
    ['follow', '--', '-A'],
  ])
    // prettier-ignore
    it(`passes no name on that kubectl would take for an option: ${args.join(' ')}`, async () => {
      const ran = await plugin(args, `echo '{"metadata":{"namespace":"shop","name":"a","uid":"u"},"items":[]}'`);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.match(/is not (the name of a scan|a schedule)/);
      expect(ran.calls.join('\n')).to.not.match(/--all|-A|-lapp/);
    });

  it('writes commands that a shell reads as they were given', async () => {
    const scan =
      '{"metadata":{"namespace":"shop","name":"a","uid":"u","creationTimestamp":"2026-03-02T10:00:00Z"},"spec":{"url":"https://a/"}}';
    const ran = await plugin(['cancel', 'a', '--context', 'my cluster'], `echo '${scan}'`);
    expect(ran.stdout).to.include("kubectl curbcut follow a '--context=my cluster'\n");
  });

  it('does not wait for a credential plug-in that outlives kubectl', async () => {
    const began = performance.now();
    const ran = await plugin(['list', '--max-wait', '1'], 'sleep 90 >/dev/null &\nexec sleep 90');
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('no response in time');
    expect(performance.now() - began).to.be.below(80_000);
  });

  it('gives up a watch that never shows the present state', async () => {
    const ran = await plugin(
      ['run', 'schedule/nightly', '--max-wait', '5'],
      `case "$*" in *watch*) ;; *) echo '{"metadata":{"name":"nightly"}}';; esac`,
    );
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('no response in time').and.include('--max-wait 5');
  });

  it('explains output that is not JSON: exit code 2', async () => {
    const ran = await plugin(['list'], 'echo hello');
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('kubectl printed something else than JSON.');
  });
});
