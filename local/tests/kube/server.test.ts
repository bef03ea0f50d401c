/** Authentication, persistence and the kubeconfig. */
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientOf, eventually } from './client.ts';
import { openEmbedded } from './targets.ts';
import { widget, widgets } from './widgets.ts';

const MAPS = '/api/v1/namespaces/curbcut/configmaps';

describe('embedded API server', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-kube-state-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('rejects requests without its token', async () => {
    const { client, kube, kubeconfigPath, close } = await openEmbedded('curbcut');
    expect((statSync(kubeconfigPath).mode & 0o777).toString(8)).to.equal('600');
    expect(readFileSync(kubeconfigPath, 'utf8')).to.equal(kube.kubeconfig);
    expect(kube.kubeconfig).to.include(kube.token);
    for (const options of [{ anonymous: true }, { token: '' }, { token: `${kube.token}x` }]) {
      const { code, body } = await client.call('GET', '/api', undefined, options);
      expect({ code, reason: body['reason'], message: body['message'] }).to.deep.equal({
        code: 401,
        reason: 'Unauthorized',
        message: 'Unauthorized',
      });
    }
    expect((await client.call('GET', '/api')).code).to.equal(200);
    expect((await client.call('GET', '/version')).body).to.include({ major: '1', minor: '36' });
    await close();
  });

  it('keeps its state, token and revisions over a restart', async () => {
    const first = await openEmbedded('curbcut', { dataDir: folder });
    await first.client.call('POST', MAPS, { metadata: { name: 'kept' }, data: { a: 'b' } });
    await first.client.call('POST', widgets('curbcut'), widget('kept', { url: 'http://a' }));
    await first.client.call('POST', MAPS, { metadata: { name: 'gone' } });
    await first.client.call('DELETE', `${MAPS}/gone`);
    const before = (await first.client.call('GET', MAPS)).body as { metadata: { resourceVersion: string }; items: unknown[] };
    await first.close();
    const second = await openEmbedded('curbcut', { dataDir: folder });
    expect(second.kube.token).to.equal(first.kube.token);
    expect(second.kube.kubeconfig.replace(/:\d{2,5}"/, '')).to.equal(first.kube.kubeconfig.replace(/:\d{2,5}"/, ''));
    const after = (await second.client.call('GET', MAPS)).body as { metadata: { resourceVersion: string }; items: unknown[] };
    expect(after).to.deep.equal(before);
    expect((await second.client.call('GET', `${widgets('curbcut')}/kept`)).body).to.have.nested.property('spec.level', 'AA');
    const stale = second.client.watch(`${MAPS}?watch=1&resourceVersion=1`);
    const [line] = await stale.until((lines) => lines.length > 0);
    expect(line?.type).to.equal('ERROR');
    expect(line?.object).to.include({ code: 410, reason: 'Expired' });
    await second.close();
  });

  it('drops a torn line', async () => {
    const first = await openEmbedded('curbcut', { dataDir: folder });
    await first.client.call('POST', MAPS, { metadata: { name: 'whole' } });
    await first.close();
    appendFileSync(join(folder, 'state.jsonl'), '{"storage":"/configmaps","key":"curbcut/half","rev');
    const second = await openEmbedded('curbcut', { dataDir: folder });
    await second.client.call('POST', MAPS, { metadata: { name: 'after' } });
    await second.close();
    const third = await openEmbedded('curbcut', { dataDir: folder });
    const { items } = (await third.client.call('GET', MAPS)).body as { items: { metadata: { name: string } }[] };
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['after', 'whole']);
    await third.close();
  });

  it('loses no acknowledged write when it is killed', async () => {
    const script = join(folder, 'run.ts');
    const kubeconfigPath = join(folder, 'kubeconfig');
    const kubePath = new URL('../../kube/kube.ts', import.meta.url).href;
    const options = { kubeconfigPath, namespace: 'curbcut', crds: [], dataDir: join(folder, 'data') };
    writeFileSync(
      script,
      `import { startKube } from ${JSON.stringify(kubePath)};\nawait startKube(${JSON.stringify(options)});\nconsole.log('up');\n`,
    );
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    const died = new Promise((resolve) => child.once('exit', resolve));
    await eventually('it to be up', async () => (out.includes('up') ? true : undefined));
    const client = clientOf(kubeconfigPath);
    const answered: string[] = [];
    await Promise.all(
      Array.from({ length: 4 }, async (_, lane) => {
        for (let count = 0; answered.length < 200; count += 1) {
          const name = `map-${lane}-${count}`;
          const reply = await client.call('POST', MAPS, { metadata: { name } }).catch(() => undefined);
          if (reply?.code === 201) answered.push(name);
          if (answered.length === 100) child.kill('SIGKILL');
          if (reply === undefined) return;
        }
      }),
    );
    await died;
    client.close();
    expect(answered.length).to.be.greaterThanOrEqual(100);
    const again = await openEmbedded('curbcut', { dataDir: join(folder, 'data') });
    const { items } = (await again.client.call('GET', MAPS)).body as { items: { metadata: { name: string } }[] };
    expect(items.map(({ metadata }) => metadata.name)).to.include.members(answered);
    await again.close();
  });

  it('rejects a folder that another process uses', async () => {
    const first = await openEmbedded('curbcut', { dataDir: folder });
    let said = '';
    await openEmbedded('curbcut', { dataDir: folder }).catch((error: unknown) => (said = String(error)));
    expect(said).to.include(`already running in ${folder} (process ${process.pid})`);
    await first.close();
  });
});
