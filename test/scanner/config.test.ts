import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { sampleInput } from '../report/samples.ts';
import { readPodInput } from '../../scanner-image/config.ts';

describe('scanner input', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-scanner-'))));
  afterEach(() => rm(folder, { recursive: true }));
  const input = sampleInput();
  const uploads = input.uploads.map((slot) => ({ ...slot, export: 'https://store/e?secret' }));
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
    const wrong = await mistake(readPodInput(await write({ ...input, uploads, workers: 99, options: { ...input.options, maxPages: 0 } })));
    expect(wrong).to.include('/workers').and.to.include('/options/maxPages').and.to.not.include('secret');
    expect(await mistake(readPodInput(await write({ ...input, options: { ...input.options, url: 'nowhere' } })))).to.include(
      '/options/url',
    );
    expect(await mistake(readPodInput(await write({ ...input, deadline: 'soon' })))).to.include('/deadline');
    expect(await mistake(readPodInput(await write({ ...input, uploadDeadline: 'soon' })))).to.include('/uploadDeadline');
  });
});
