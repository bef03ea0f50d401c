/**
 * Scans that are in progress during an upgrade or a rollback, with images of another version: their package has another version,
 * and where it matters they compute scores by another rule and send messages with a field that this version does not know.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { eventually, ON_CLUSTER, startWholeProduct, type WholeProduct } from '../journey/product.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CURRENT = process.env.SCANNER_IMAGE ?? 'curbcut.dev/scanner:dev';
const PAGES = 12;
const WITHIN_MS = 180_000;
const run = promisify(execFile);

/** A replacement in a file of the image. */
type Edit = readonly [file: string, from: RegExp, to: string];

const versioned = (version: string): Edit => ['package.json', /"version": "[^"]+"/, `"version": "${version}"`];
const OTHER_SCORE: Edit = ['report/schema/engines.ts', /SCORE_VERSION = (\d+)/, 'SCORE_VERSION = 1$1'];
const MORE_FIELDS: Edit = ['scanner-image/pod/pod.ts', /export: exported,/, 'newer: true, export: { ...exported, newer: true },'];

/** The images by tag, with what is different in them. */
const IMAGES: Readonly<Record<string, readonly Edit[]>> = {
  'previous-same-rules': [versioned('0.0.9')],
  previous: [versioned('0.0.9'), OTHER_SCORE],
  'next-same-rules': [versioned('99.0.0'), MORE_FIELDS],
  next: [versioned('99.0.0'), OTHER_SCORE, MORE_FIELDS],
};
const imageOf = (tag: string): string => `curbcut.test/scanner:${tag}`;

/** Builds an image from that under test. */
async function buildImage(folder: string, tag: string): Promise<void> {
  const edits = IMAGES[tag]!;
  const lines = await Promise.all(
    edits.map(async ([file, from, to]) => {
      const text = await readFile(join(ROOT, file), 'utf8');
      if (!from.test(text)) throw new Error(`${file} has nothing like ${from}`);
      const copy = join(tag, file);
      await mkdir(dirname(join(folder, copy)), { recursive: true });
      await writeFile(join(folder, copy), text.replace(from, to));
      return `COPY ${copy} /app/${file}`;
    }),
  );
  await writeFile(join(folder, `${tag}.Dockerfile`), [`FROM ${CURRENT}`, ...lines, ''].join('\n'));
  await run('sh', ['-c', `${process.env.IMAGE_BUILD} "$@"`, 'sh', imageOf(tag), '-f', join(folder, `${tag}.Dockerfile`), folder]);
}

describe('scan in progress while the version changes', function () {
  this.timeout(2 * WITHIN_MS);
  let product: WholeProduct;
  let folder: string | undefined;
  before(async function () {
    // IMAGE_BUILD is the command that builds an image and loads it into the cluster.
    if (!ON_CLUSTER || !process.env.IMAGE_BUILD) return this.skip();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-versions-'));
    for (const tag of Object.keys(IMAGES)) await buildImage(folder, tag);
    product = await startWholeProduct();
  });
  after(async () => {
    await product?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  const read = async (name: string): Promise<AccessibilityScan> =>
    JSON.parse(await product.kubectl(['get', 'a11y', name, '-o', 'json'])) as AccessibilityScan;
  const balance = async (): Promise<number> =>
    ((await (await product.request('/v1/billing/credits')).json()) as { balance: number }).balance;
  async function operateWith(image: string): Promise<void> {
    product.environment.SCANNER_IMAGE = image;
    await product.processes.crash('operator');
  }

  /** Starts a scan with one image, and an operator of this version while its pod tests pages. @returns the ended scan */
  async function scanAcross(tag: string): Promise<AccessibilityScan> {
    await product.changeKey();
    const had = await balance();
    await operateWith(imageOf(tag));
    const answer = await product.request('/v1/ci/scans', {
      method: 'POST',
      body: JSON.stringify({ url: product.demoUrl, max_pages: PAGES }),
    });
    const text = await answer.text();
    expect(answer.status, text).to.equal(202);
    const name = `scan-${(JSON.parse(text) as { scan_id: string }).scan_id}`;
    await eventually(() => read(name), ({ status }) => status?.phase === 'scanning', WITHIN_MS); // prettier-ignore
    await operateWith(CURRENT);
    const ended = await eventually(() => read(name), ({ status }) => ['done', 'failed'].includes(status?.phase ?? ''), WITHIN_MS); // prettier-ignore
    expect(ended.status, JSON.stringify(ended.status)).to.include({ phase: 'done' });
    expect(ended.status!.pages).to.include({ reserved: PAGES, scanned: PAGES });
    await eventually(balance, (now) => now === had - PAGES);
    return ended;
  }
  const jobImage = async (scan: AccessibilityScan): Promise<string> =>
    product.kubectl(['get', 'job', scan.status!.jobName!, '-o', 'jsonpath={.spec.template.spec.containers[0].image}']);

  for (const tag of ['previous-same-rules', 'next-same-rules'])
    it(`ends with the results of its first pod, if they can be verified: ${tag}`, async () => {
      const scan = await scanAcross(tag);
      expect(scan.status).not.to.have.property('replacedJob');
      expect(await jobImage(scan)).to.equal(imageOf(tag));
    });

  for (const [what, tag] of [
    ['an upgrade', 'previous'],
    ['a rollback', 'next'],
  ] as const)
    it(`runs once more with the current image if they cannot, as after ${what}, and is charged once`, async () => {
      const scan = await scanAcross(tag);
      expect(scan.status!.replacedJob).to.be.a('string');
      expect(await jobImage(scan)).to.equal(CURRENT);
      const events = await product.kubectl(['get', 'events', '--field-selector', `involvedObject.name=${scan.metadata.name}`, '-o', 'jsonpath={.items[*].reason}']); // prettier-ignore
      expect(events).to.include('Retrying');
    });
});
