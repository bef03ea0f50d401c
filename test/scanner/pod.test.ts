/** The process of the scanner pod: what it stores, its messages and termination message, and its exit codes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Value } from 'typebox/value';
import { EXIT_PERMANENT, PICTURES_TYPE, PodMessage, type PodInput } from '../../core/protocol/pod-messages.ts';
import { picturesMismatch } from '../../report/results/pictures.ts';
import { Report } from '../../report/schema/report.ts';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import { startMessages, type Messages } from '../../local/messages/messages.ts';
import { createMessageBus, type MessageBus } from '../../stores/nats.ts';
import { createAuthority, startTlsFront } from '../support/private-authority.ts';
import { html, inputOf, openSite, type Route, type Site } from './site.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';

const MAIN = join(import.meta.dirname, '../../scanner-image/main.ts');
/** Polls until it holds, as long as the test may take. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
};

describe('scanner pod', () => {
  let folder: string;
  let messages: Messages;
  let bus: MessageBus;
  let site: Site;
  let store: Server;
  let stored: Map<string, { type: string; body: Buffer }>;
  let refuse = 0;
  let hanging: string | null = null;
  /** Whether the object exists that says that the scan was canceled. */
  let marked = false;
  let said: PodMessage[];
  let silence: () => void;
  let children: ChildProcess[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-pod-'));
    messages = await startMessages({ dataDir: join(folder, 'messages') });
    bus = createMessageBus({
      url: messages.url,
      credentialsFile: messages.credentialsFile,
      signingSeed: messages.signingSeed,
      logger: silentLogger,
    });
    await until(() => bus.connected);
    store = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'GET') return void response.writeHead(marked ? 200 : 404).end();
        if (refuse-- > 0) return void response.writeHead(503).end();
        stored.set(new URL(request.url ?? '', 'http://x').pathname, {
          type: request.headers['content-type'] ?? '',
          body: Buffer.concat(chunks),
        });
        response.end();
      });
    });
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
    site = await openSite({
      '/': html('<img src="/x.png" width="90" height="60"><a href="/a">a</a><a href="/gone">gone</a>'),
      '/a': html('fine', { title: 'a' }),
      '/part': html('<img src="/x.png"><a href="/a">a</a><a href="/hangs">hangs</a><a href="/gone">gone</a>'),
      '/faults': html('<img src="/x.png">'),
      '/hangs': () => undefined,
      ...Object.fromEntries(
        ['/robots.txt', '/sitemap.xml'].map((path): [string, Route] => [
          path,
          (_request, response) => void (hanging === path || response.writeHead(404).end()),
        ]),
      ),
      '/basic': (request, response) =>
        request.headers.authorization === undefined
          ? response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
          : response.writeHead(200, { 'content-type': 'text/html' }).end(html('in')),
    });
  });
  after(async () => {
    await bus.close();
    await messages.close();
    await site.close();
    await new Promise((resolve) => store.close(resolve));
    await rm(folder, { recursive: true });
  });
  beforeEach(() => {
    stored = new Map();
    said = [];
    refuse = 0;
    hanging = null;
    marked = false;
    silence = bus.followProgress((scanId, payload) => {
      if (scanId === 'scan-1') said.push(Value.Parse(PodMessage, JSON.parse(new TextDecoder().decode(payload))));
    });
  });
  afterEach(() => {
    silence();
    for (const child of children) child.kill('SIGKILL');
    children = [];
  });

  const storeUrl = (name: string): string => `http://127.0.0.1:${(store.address() as AddressInfo).port}/${name}?signature=secret`;
  const slot = (attempt: number, prefix = ''): PodInput['uploads'][number] => ({
    attempt,
    shard: 0,
    export: storeUrl(`${prefix}report.json`),
    pdf: storeUrl(`${prefix}report.pdf`),
    pictures: storeUrl(`${prefix}pictures`),
    result: storeUrl(`${prefix}result.json`),
  });
  async function run(
    path: string,
    more: Partial<PodInput> = {},
    environment: Record<string, string> = {},
  ): Promise<{ child: ChildProcess; ended: Promise<number | null>; log: () => string; terminationMessage: () => Promise<PodMessage> }> {
    const input: PodInput = {
      ...inputOf(site.origin + path, { maxPages: 5, locale: 'de', pictures: true }),
      version: CURBCUT_VERSION,
      scanId: 'scan-1',
      submittedAt: new Date().toISOString(),
      uploadDeadline: new Date(Date.now() + 180_000).toISOString(),
      pagesReserved: 5,
      uploads: [slot(0, 'first-'), slot(1)],
      messages: bus.issueScanCredential('scan-1', new Date(Date.now() + 60_000)) ?? undefined,
      ...more,
    };
    const file = join(folder, 'scan.json');
    const terminationMessage = join(folder, 'termination-message');
    await rm(terminationMessage, { force: true });
    await writeFile(file, JSON.stringify(input));
    const env = {
      PATH: process.env.PATH,
      CHROMIUM_PATH: process.env.CHROMIUM_PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      SCAN_INPUT: file,
      SCAN_AUTH: join(folder, 'auth'),
      JOB_COMPLETION_INDEX: '0',
      JOB_INDEX_FAILURE_COUNT: '1',
      // Kubernetes sets an empty string if the annotation is absent.
      JOB_INDEX_IGNORED_FAILURE_COUNT: '',
      TERMINATION_LOG: terminationMessage,
      ...environment,
    };
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    let log = '';
    child.stdout?.on('data', (chunk: Buffer) => (log += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
    return {
      child,
      ended: once(child, 'close').then(([code]) => code as number | null),
      log: () => log,
      terminationMessage: async () => Value.Parse(PodMessage, JSON.parse(await readFile(terminationMessage, 'utf8'))),
    };
  }
  const heard = (kind: PodMessage['kind']) => until(() => said.some((message) => message.kind === kind));
  const isAsked = (path: string, hits: number) => until(() => site.hits(path) > hits);

  it('trusts private authorities for the object store, and others for sites', async () => {
    const [ours, theirs] = [createAuthority('Store'), createAuthority('Sites')];
    const fronts = [
      await startTlsFront((store.address() as AddressInfo).port, ours.issue()),
      await startTlsFront(site.port, theirs.issue()),
    ] as const;
    const names = ['export', 'pdf', 'pictures', 'result'] as const;
    const links = Object.fromEntries(names.map((name) => [name, `https://127.0.0.1:${fronts[0].port}/${name}?signature=secret`]));
    const input = {
      ...inputOf(`https://127.0.0.1:${fronts[1].port}/a`, { maxPages: 1 }),
      uploads: [{ attempt: 0, shard: 0, ...links }] as PodInput['uploads'],
    };
    try {
      const pod = await run('/', { ...input, privateCa: ours.bundle, siteCa: theirs.bundle });
      expect(await pod.ended, pod.log()).to.equal(0);
      expect([...stored.keys()]).to.include.members(['/export', '/pdf', '/result']);
    } finally {
      for (const front of fronts) await front.close();
    }
  }).timeout(240_000);

  it('stores its results, retries while the store is unavailable, and reports progress and outcome', async () => {
    refuse = 1;
    const pod = await run('/');
    expect(await pod.ended, pod.log()).to.equal(0);
    const last = await pod.terminationMessage();
    await heard('stored');
    expect(said.at(-1)).to.deep.equal(last);
    if (last.kind !== 'stored') throw new Error(last.kind);
    expect(last).to.include({ scanId: 'scan-1', attempt: 1, shard: 0 });
    expect(last.pages).to.deep.equal({ scanned: 2, failed: 1, total: 3 });
    for (const [name, type, digest] of [
      ['/report.json', 'application/json', last.export],
      ['/report.pdf', 'application/pdf', last.pdf],
      ['/pictures', PICTURES_TYPE, last.pictures],
    ] as const) {
      const object = stored.get(name);
      expect(object?.type).to.equal(type);
      expect(digest).to.deep.equal({
        bytes: object?.body.length,
        sha256: createHash('sha256')
          .update(object?.body ?? '')
          .digest('hex'),
      });
    }
    // The statement repeats the last message, and is uploaded when the other objects are stored.
    expect(JSON.parse(stored.get('/result.json')?.body.toString() ?? '')).to.deep.equal(last);
    expect([...stored.keys()].at(-1)).to.equal('/result.json');
    const report: unknown = JSON.parse(stored.get('/report.json')?.body.toString() ?? '');
    expect([...Value.Errors(Report, report)]).to.deep.equal([]);
    const { pictures: places, ...stated } = report as Report;
    expect(places).to.have.length(1);
    expect(picturesMismatch({ ...stated, pictures: places }, stored.get('/pictures')?.body ?? null)).to.equal(null);
    expect(stored.get('/report.pdf')?.body.subarray(0, 5).toString()).to.equal('%PDF-');
    const progress = said.filter((message) => message.kind === 'progress');
    expect(progress.map(({ sequence }) => sequence)).to.deep.equal(progress.map((_, at) => at));
    const phases = ['crawling', 'scanning', 'aggregating', 'generating'];
    expect(progress.map(({ phase }) => phase)).to.deep.equal(
      progress.map(({ phase }) => phase).sort((a, b) => phases.indexOf(a) - phases.indexOf(b)),
    );
    expect(progress.at(-1)?.phase).to.equal('generating');
    const pages = pod
      .log()
      .split('\n')
      .filter((line) => line.includes('"url"'))
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(pages).to.deep.equal(['page tested', 'page tested', 'page not tested']);
    expect(pod.log()).to.not.include('secret');
  });

  it('exits with 42 and a reason if the scan cannot succeed', async () => {
    const pod = await run('/gone');
    expect(await pod.ended, pod.log()).to.equal(EXIT_PERMANENT);
    await heard('failed');
    expect(said.at(-1)).to.deep.equal(await pod.terminationMessage());
    expect(said.at(-1)).to.deep.include({ kind: 'failed', reason: 'target_unreachable', pages: { scanned: 0, failed: 1, total: 1 } });
    expect(stored.size).to.equal(0);
  });

  it('ends without a retry if its export would be too large', async () => {
    const pod = await run('/faults', { exportMaxBytes: 1000 });
    expect(await pod.ended, pod.log()).to.equal(EXIT_PERMANENT);
    expect(await pod.terminationMessage()).to.include({
      kind: 'failed',
      reason: 'report_too_large',
      message: 'The export of this scan is larger than the limit of 1,000 bytes. Scan fewer pages.',
    });
  });

  it('exits with 42 at its deadline', async () => {
    const pod = await run('/hangs', { deadline: new Date(Date.now() + 4000).toISOString() });
    expect(await pod.ended, pod.log()).to.equal(EXIT_PERMANENT);
    expect(await pod.terminationMessage()).to.include({ kind: 'failed', reason: 'deadline_exceeded' });
  });

  describe('on SIGTERM after the scan was canceled', () => {
    const cancelMark = () => ({ cancelMark: storeUrl('mark') });

    it('stores the pages that were tested, and lists none as failed', async () => {
      const hits = site.hits('/hangs');
      const pod = await run('/part', cancelMark());
      await isAsked('/hangs', hits);
      await until(() => said.some((message) => message.kind === 'progress' && message.pages.scanned === 2));
      marked = true;
      pod.child.kill('SIGTERM');
      expect(await pod.ended, pod.log()).to.equal(0);
      // The page in progress was not waited for: it would have failed.
      expect(await pod.terminationMessage()).to.deep.include({ kind: 'stored', pages: { scanned: 2, failed: 0, total: 2 } });
      const report = Value.Parse(Report, JSON.parse(stored.get('/report.json')!.body.toString()));
      expect(report.partial).to.equal(true);
      expect(report.pages.map(({ url, tested }) => [new URL(url).pathname, tested])).to.deep.equal([
        ['/part', true],
        ['/a', true],
      ]);
      expect(report.addresses_left, 'the page in progress, and the one that was not started').to.equal(2);
      expect(report.scan.verdict.passed).to.equal(null);
      expect(stored.get('/report.pdf')?.body.subarray(0, 5).toString()).to.equal('%PDF-');
    });

    it('exits with 143 and stores nothing before the first page is tested', async () => {
      const hits = site.hits('/hangs');
      const pod = await run('/hangs', cancelMark());
      await isAsked('/hangs', hits);
      marked = true;
      pod.child.kill('SIGTERM');
      expect(await pod.ended, pod.log()).to.equal(143);
      expect(stored.size).to.equal(0);
    });

    it('exits with 143 and stores nothing if it was not canceled, as when its node is drained', async () => {
      const hits = site.hits('/hangs');
      const pod = await run('/part', cancelMark());
      await isAsked('/hangs', hits);
      pod.child.kill('SIGTERM');
      expect(await pod.ended, pod.log()).to.equal(143);
      expect(stored.size).to.equal(0);
      expect(pod.log()).to.include('terminated by a signal');
    });
  });

  it('ends after its browser', async () => {
    const [browser, running] = [join(folder, 'browser'), join(folder, 'running')];
    const chromium = findChromium({ chromiumPath: process.env.CHROMIUM_PATH, path: process.env.PATH ?? '' });
    await writeFile(browser, `#!/bin/sh\necho $$ >'${running}'\nexec '${chromium}' "$@"\n`, { mode: 0o755 });
    const pod = await run('/a', {}, { CHROMIUM_PATH: browser });
    expect(await pod.ended, pod.log()).to.equal(0);
    const id = Number(await readFile(running, 'utf8'));
    expect(() => process.kill(id, 0)).to.throw('ESRCH');
  });

  it('exits with 143 on SIGTERM while it waits for a sitemap', async () => {
    hanging = '/sitemap.xml';
    const hits = site.hits(hanging);
    const pod = await run('/hangs');
    await isAsked(hanging, hits);
    pod.child.kill('SIGTERM');
    expect(await pod.ended, pod.log()).to.equal(143);
    expect(site.hits(hanging)).to.equal(hits + 1);
  });

  it('signs in with the credentials in its folder, and completes while the message bus is down', async () => {
    const auth = await mkdtemp(join(folder, 'auth-'));
    await writeFile(join(auth, 'username'), 'ann');
    await writeFile(join(auth, 'password'), 'x');
    const nowhere = {
      url: 'nats://127.0.0.1:1',
      subject: 'progress.scan-1',
      jwt: 'x.y.z',
      seed: 'SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU',
    };
    const pod = await run('/basic', { messages: nowhere }, { SCAN_AUTH: auth });
    expect(await pod.ended, pod.log()).to.equal(0);
    expect((await pod.terminationMessage()).kind).to.equal('stored');
    expect(said).to.deep.equal([]);
  });
});
