/** Somebody who reads the log of a job: no colours and 80 columns. A gate fails, and passes once what it found is accepted. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { WholeProduct } from '../product.ts';
import { sharedProduct } from '../shared-product.ts';
import { openShop, type Shop } from './shop.ts';

const CURBCUT = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const COLUMNS = 80;

interface Log {
  code: number;
  text: string;
}

describe('the user of a pipeline, in a log without colours at 80 columns', function () {
  this.timeout(300_000);
  let product: WholeProduct;
  let shop: Shop;
  before(async () => {
    product = await sharedProduct();
    shop = await openShop(product.host);
  });
  after(async () => {
    shop?.close();
  });

  /** Runs a command of a job. Checks that its log has no line that is too long, except addresses, and no colours. */
  async function job(...args: string[]): Promise<Log> {
    const env = { ...process.env, ...product.credentials(), CI: 'true' };
    const { code, text } = await promisify(execFile)(process.execPath, [CURBCUT, ...args], { env, cwd: product.dir }).then(
      ({ stdout, stderr }) => ({ code: 0, text: stderr + stdout }),
      (error: { code: number; stdout: string; stderr: string }) => ({ code: error.code, text: error.stderr + error.stdout }),
    );
    if (process.env['WALK_LOG']) console.log(`$ curbcut ${args.join(' ')}\n${text}exit code ${code}`);
    expect(text).to.not.include('\u001b');
    const long = text.split('\n').filter((line) => line.length > COLUMNS && !/^\S* *https?:\S+$/.test(line));
    expect(long).to.deep.equal([]);
    return { code, text };
  }
  const scan = (...more: string[]) => job('scan', shop.url, '--max-pages', '3', ...more);
  const dashboard = () => new RegExp(`^Open +${product.url}/dashboard/scans/[\\w-]+$`, 'm');

  it('sees why the gate fails: the sentence, the worst causes, how to fix them, and the link', async () => {
    const { code, text } = await scan('--fail-on', 'serious', '--export', 'report.json');
    expect(code, text).to.equal(1);
    expect(text)
      .to.match(/^Verdict +\S did not pass$/m)
      .and.match(dashboard());
    expect(text)
      .to.include('1 critical violation, 4 serious violations, none allowed')
      .and.include('Fix these 3 root causes and the scan passes.');
    const causes = ['label', 'link-name', 'color-contrast'].map((rule) => text.indexOf(`(${rule})`));
    expect(causes)
      .to.deep.equal(causes.toSorted((a, b) => a - b))
      .and.not.include(-1);
    expect(text.match(/How to fix: /g)).to.have.length(3);
  });

  it('fixes exactly what the log of a build without new violations names, and the build passes', async () => {
    const main = await scan('-o', 'wide');
    const baseline = /^Scan +(\S+)$/m.exec(main.text)![1]!;
    const gate = ['--baseline', baseline, '--max-new-violations', '0', '--fail-on', 'critical', '--max-violations', '3'];
    const build = await scan(...gate);
    expect(build.code, build.text).to.equal(1);
    expect(build.text)
      .to.match(/^Baseline +0 new, 0 fixed, 5 unchanged$/m)
      .and.include('Fix these 2 root causes and the scan passes.');
    const named = build.text.slice(build.text.indexOf('Fix these')).matchAll(/^ {2}- [^]*?\(([a-z-]+)\)$/gm);
    const rules = [...named].map(([, rule]) => rule!);
    expect(rules).to.deep.equal(['label', 'link-name']);
    const copy = await openShop(product.host, rules);
    try {
      const fixed = await job('scan', copy.url, '--max-pages', '3', ...gate);
      expect(fixed.code, fixed.text).to.equal(0);
      expect(fixed.text)
        .to.match(/^Verdict +\S passed$/m)
        .and.match(/^Baseline +0 new, 4 fixed, 1 unchanged$/m);
    } finally {
      copy.close();
    }
  });

  it('accepts what is there, and the gate passes', async () => {
    const until = new Date(Date.now() + 90 * 86_400_000).toISOString().slice(0, 10);
    const about = ['--reason', 'Found before we tested.', '--owner', 'shop team', '--until', until, '-o', 'known-issues.yaml'];
    const accepted = await job('accept', 'report.json', '--all', ...about);
    expect(accepted.code, accepted.text).to.equal(0);
    await product.kubectl(['apply', '-f', join(product.dir, 'known-issues.yaml')]);
    await product.kubectl(['wait', '--for=condition=Ready', 'knownissues', '--all', '--timeout=60s']);
    const { code, text } = await scan('--fail-on', 'serious');
    expect(code, text).to.equal(0);
    expect(text)
      .to.match(/^Verdict +\S passed$/m)
      .and.include('5 of the violations; without them 0');
    expect(text).to.not.include('How to fix');
  });
});
