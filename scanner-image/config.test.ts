import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readPodInput } from './config.ts';

describe('scanner input', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-scanner-'))));
  afterEach(() => rm(folder, { recursive: true }));
  const input = {
    version: '0.1.0',
    scanId: 's',
    submittedAt: '2026-01-01T00:00:00Z',
    options: {
      url: 'https://example.org/',
      httpFallback: false,
      maxPages: 1,
      wcagLevel: 'AA',
      wcagVersion: '2.1',
      thresholds: {},
      crawl: { include: [], exclude: [], sitemap: true, respectRobots: true, waitFor: '', settleMs: 0, consent: 'keep', prepare: [] },
      locale: 'en',
      pictures: true,
      advice: true,
    },
    pagesReserved: 1,
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
});
