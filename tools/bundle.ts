/**
 * Bundles the command line to files that need no checkout:
 *
 *   node tools/bundle.ts [--only-program] OUT
 *
 * OUT gets `curbcut.cjs` (both programs in one file, without the scanner), `curbcut-VERSION.tgz` (the npm package, with the scanner),
 * `kubectl-curbcut-VERSION.tar.gz` and `curbcut.yaml` (krew's archive and manifest). --only-program writes only the first, for
 * images/cli. DOWNLOAD_URL is the address of the folder from which krew gets the archive. The same input gives the same bytes.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleProgram } from './bundle/bundle.ts';
import { writeKrew } from './bundle/krew.ts';
import { writePackage } from './bundle/npm-package.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';

const { values, positionals } = parseArgs({ options: { 'only-program': { type: 'boolean' } }, allowPositionals: true });
const [out] = positionals;
if (out === undefined || positionals.length > 1) {
  console.error('usage: node tools/bundle.ts [--only-program] OUT');
  process.exit(2);
}
await mkdir(out, { recursive: true });
const program = await bundleProgram();
await writeFile(join(out, 'curbcut.cjs'), program.code);
if (!values['only-program']) {
  await writePackage(program, out);
  await writeKrew(program, out, process.env.DOWNLOAD_URL ?? `https://downloads.example.com/curbcut/v${CURBCUT_VERSION}`);
}
