import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readPodInput } from './config.ts';
import { cookiesOf, readSignIn, signInHeaders } from './sign-in.ts';

describe('scanner input', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-scanner-'))));
  afterEach(() => rm(folder, { recursive: true }));
  const input = {
    scanId: 's',
    submittedAt: '2026-01-01T00:00:00Z',
    options: {
      url: 'https://example.org/',
      maxPages: 1,
      wcagLevel: 'AA',
      wcagVersion: '2.1',
      thresholds: {},
      crawl: { include: [], exclude: [], sitemap: true, respectRobots: true, waitFor: '', settleMs: 0 },
      locale: 'en',
      pictures: true,
    },
    pagesRequested: 1,
    uploads: [
      {
        attempt: 0,
        shard: 0,
        export: 'https://store/e?secret',
        pdf: 'https://store/p?secret',
        pictures: 'https://store/i?secret',
        result: 'https://store/r?secret',
      },
    ],
    deadline: '2026-01-01T01:00:00Z',
    uploadDeadline: '2026-01-01T01:20:00Z',
    allowTargets: [],
    denyTargets: [],
    workers: 1,
    pageBudgetMs: 20000,
    exportMaxBytes: 64_000_000,
  };
  const write = async (content: unknown): Promise<string> => {
    const file = join(folder, 'scan.json');
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  const mistake = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'none',
      (error: Error) => error.message,
    );

  it('is read from the file', async () => {
    expect(await readPodInput(await write(input))).to.deep.equal(input);
  });

  it('is rejected with a message that lists every mistake, but no secrets', async () => {
    expect(await mistake(readPodInput(join(folder, 'none.json'))))
      .to.include('ENOENT')
      .and.to.include('SCAN_INPUT');
    expect(await mistake(readPodInput(await write('{')))).to.include('is not JSON');
    const wrong = await mistake(readPodInput(await write({ ...input, workers: 99, options: { ...input.options, maxPages: 0 } })));
    expect(wrong).to.include('/workers').and.to.include('/options/maxPages').and.to.not.include('secret');
    expect(await mistake(readPodInput(await write({ ...input, options: { ...input.options, url: 'nowhere' } })))).to.include(
      '/options/url',
    );
    expect(await mistake(readPodInput(await write({ ...input, deadline: 'soon' })))).to.include('/deadline');
    expect(await mistake(readPodInput(await write({ ...input, uploadDeadline: 'soon' })))).to.include('/uploadDeadline');
  });

  it('may include credentials', async () => {
    expect(await readSignIn(join(folder, 'none'))).to.equal(null);
    expect(await readSignIn(folder)).to.equal(null);
    await writeFile(join(folder, 'username'), 'ann\n');
    expect(await mistake(readSignIn(folder))).to.include('a username but no password');
    await writeFile(join(folder, 'password'), 'p:w\r\n');
    await writeFile(join(folder, 'cookie'), 'a=1; b=x=y');
    expect(await readSignIn(folder)).to.deep.equal({ basic: { username: 'ann', password: 'p:w' }, cookie: 'a=1; b=x=y' });
  });
});

describe('sign-in', () => {
  it('is sent only to its origin', () => {
    const headers = signInHeaders({ basic: { username: 'a', password: 'b' }, cookie: 'c=1' }, 'https://example.org');
    expect(headers(new URL('https://example.org/x'))).to.deep.equal({ authorization: 'Basic YTpi', cookie: 'c=1' });
    for (const other of ['http://example.org/', 'https://www.example.org/', 'https://example.org:8443/'])
      expect(headers(new URL(other))).to.deep.equal({});
  });
  it('is split into cookies', () => {
    expect(cookiesOf('a=1; b=x=y;; nonsense; =z', 'https://example.org')).to.deep.equal([
      { name: 'a', value: '1', url: 'https://example.org/' },
      { name: 'b', value: 'x=y', url: 'https://example.org/' },
    ]);
  });
});
