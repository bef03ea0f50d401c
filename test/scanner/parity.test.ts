/** `make parity`: compares the scanner with a plain run of axe-core over a list of addresses. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer, html, openSite, type Site } from './site.ts';

const TOOL = join(import.meta.dirname, '..', '..', 'tools', 'parity.ts');

describe('make parity', () => {
  let site: Site;
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'curbcut-parity-'));
    site = await openSite({
      '/equal': html(
        '<img src="/none.png"><p style="background-image: linear-gradient(#fff, #000)">Text</p><p id="own" style="background-image: linear-gradient(#fff, #eee); color: #ccc">Text</p>',
      ),
      '/different': (request, response) => {
        const isOurs = request.headers['user-agent']?.includes('Curbcut') === true;
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(html(isOurs ? '<input id="ours">' : '<img src="/none.png" id="plain">'));
      },
      '/broken': answer(500),
    });
  });
  afterEach(async () => {
    await site.close();
    await rm(dir, { recursive: true });
  });

  async function parity(list: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const file = join(dir, 'urls');
    await writeFile(file, list);
    return new Promise((resolve) => {
      execFile(process.execPath, [TOOL, '--rest', '0', file], { timeout: 100_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
  }

  it('prints the differences node by node, and fails', async () => {
    const { code, stdout } = await parity(`# a comment\n\n${site.origin}/equal\n${site.origin}/different\n${site.origin}/broken\n`);
    expect(stdout).to.match(/\/equal\n {2}equal: 3 findings, \d+ ms\n {2}by our own checks: color-contrast #own\n/);
    expect(stdout).to.match(
      /\/different\n {2}different: .*\n {2}only the scanner: label #ours\n {2}only the plain run: image-alt #plain\n/,
    );
    expect(stdout).to.match(/\/broken\n {2}not compared: http_error: /);
    expect(stdout).to.include('1 of 3 pages have equal findings');
    expect(code).to.equal(1);
  });

  it('names lines that are not addresses', async () => {
    const { code, stderr } = await parity('example.org\n');
    expect([code, stderr]).to.deep.equal([2, `${join(dir, 'urls')}: not an address: example.org\n`]);
  });
});
