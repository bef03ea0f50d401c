/**
 * `make pictures`: runs the whole product on the embedded stack, scans two versions of the demo site, and takes the pictures of the
 * README: the terminal, page 1 of the PDF, the difference in the dashboard, and the comment on a pull request.
 */
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { chromium, type Browser } from 'playwright-core';
import { DEMO_EMAIL } from '../local/demo-organisation.ts';
import { findChromium } from '../scanner-image/page/browser/chromium.ts';
import { startWholeProduct, type WholeProduct } from '../test/journey/product.ts';
import { commentPage, terminalPage } from './pictures/frames.ts';
import { openVersions } from './pictures/versions.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs', 'pictures');
const COLUMNS = 100;
const EMOJI = join(ROOT, 'node_modules', '@expo-google-fonts', 'noto-emoji', '400Regular', 'NotoEmoji_400Regular.ttf');
const run = promisify(execFile);

const quoted = (words: readonly string[]): string => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');

/** Runs `curbcut` on a terminal of its own. @returns what it shows */
async function onTerminal(product: WholeProduct, args: readonly string[]): Promise<string> {
  const command = `stty cols ${COLUMNS} rows 50; exec ${quoted([process.execPath, join(ROOT, 'cli', 'main.ts'), ...args])}`;
  const env = { ...process.env, ...product.credentials(), LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  for (const name of ['CI', 'NO_COLOR']) delete (env as Record<string, string | undefined>)[name];
  // -e would return the exit code of the scan, which is 1 for a missed threshold.
  const { stdout } = await run('script', ['-qc', command, '/dev/null'], { env, cwd: product.dir, maxBuffer: 16 << 20 });
  return stdout;
}

/** Takes a picture of a document of our own. */
async function pictureOf(browser: Browser, name: string, html: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 900, height: 200 } });
  await page.setContent(html);
  await page.locator('#picture').screenshot({ path: join(FOLDER, name) });
  await page.close();
}

async function pictureOfDifference(browser: Browser, product: WholeProduct, id: string): Promise<void> {
  const context = await browser.newContext({ baseURL: product.url, viewport: { width: 1100, height: 1000 }, locale: 'en-US' });
  const page = await context.newPage();
  await page.goto('/dashboard');
  await page.getByLabel('E-mail address').fill(DEMO_EMAIL);
  await page.getByLabel('Password', { exact: true }).fill(product.password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor();
  await page.goto(`/dashboard/scans/${id}`);
  const difference = page.locator('#difference');
  await page.getByRole('heading', { name: 'Difference to the baseline' }).click();
  await difference.getByRole('heading', { name: 'New violations by root cause' }).waitFor();
  const box = (await difference.boundingBox())!;
  const top = box.y + (await page.evaluate<number>('scrollY'));
  const clip = { x: 0, y: Math.max(0, top - 16), width: 1100, height: Math.min(box.height + 32, 800) };
  await page.screenshot({ path: join(FOLDER, 'difference.png'), fullPage: true, clip });
  await context.close();
}

async function takeAll(browser: Browser, product: WholeProduct): Promise<void> {
  const site = await openVersions(product.host);
  try {
    const file = (name: string): string => join(product.dir, name);
    const options = ['--max-pages', '10', '--min-score', '90'];
    const before = await product.curbcut('scan', site.url, ...options, '--metadata', 'branch=main');
    if (before.code > 1) throw new Error(before.stderr);
    site.release();
    const command = ['scan', site.url, ...options, '--baseline', 'branch=main', '--max-new-violations', '0'];
    const shown = await onTerminal(product, [
      ...command,
      '--metadata',
      'commit=4f371ac9',
      '--pdf',
      'report.pdf',
      '--export',
      'report.json',
    ]);
    await pictureOf(browser, 'terminal.png', terminalPage(`curbcut ${command.join(' ')}`, shown));

    await run('pdftoppm', ['-png', '-r', '72', '-f', '1', '-l', '1', '-singlefile', file('report.pdf'), join(FOLDER, 'report')]);
    const { scan } = JSON.parse(readFileSync(file('report.json'), 'utf8')) as { scan: { id: string } };
    await pictureOfDifference(browser, product, scan.id);
    const comment = await product.curbcut('comment', file('report.json'), '--max-causes', '2');
    if (comment.code !== 0) throw new Error(comment.stderr);
    const body = micromark(comment.stdout, { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true });
    await pictureOf(browser, 'comment.png', commentPage(body, readFileSync(EMOJI).toString('base64')));
  } finally {
    await site.close();
  }
}

// The embedded stack, whatever this shell is connected to.
for (const name of ['KUBECONFIG', 'MONGODB_URL', 'NATS_URL', 'S3_ENDPOINT', 'SMTP_URL']) delete process.env[name];
const browser = await chromium.launch({
  executablePath: findChromium({ chromiumPath: process.env.CHROMIUM_PATH, path: process.env.PATH ?? '' }),
  chromiumSandbox: process.getuid?.() !== 0,
  args: ['--disable-dev-shm-usage'],
});
const product = await startWholeProduct();
try {
  await takeAll(browser, product);
  for (const name of ['terminal', 'report', 'difference', 'comment'])
    console.log(`docs/pictures/${name}.png  ${Math.ceil(statSync(join(FOLDER, `${name}.png`)).size / 1024)} KB`);
} finally {
  await product.close();
  await browser.close();
}
