/**
 * Bundles the command line to files that need no checkout:
 *
 *   node tools/bundle.ts [--only-program] OUT
 *
 * OUT gets `curbcut.cjs` (without the scanner), `curbcut-mcp.cjs` (for `curbcut mcp`), `LICENSE`, `LICENSES-OF-PACKAGES.txt`, and
 * `curbcut-npm-VERSION.tgz` (the npm package, with the scanner). --only-program writes all but the package, for images/cli. SOURCE_URL
 * is the address of the repository. The same input gives the same bytes.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleProgram, bundleSdk, SDK_FILE } from './bundle/bundle.ts';
import { licenceFiles, writePackage } from './bundle/npm-package.ts';

const { values, positionals } = parseArgs({ options: { 'only-program': { type: 'boolean' } }, allowPositionals: true });
const [out] = positionals;
if (out === undefined || positionals.length > 1) {
  console.error('usage: node tools/bundle.ts [--only-program] OUT');
  process.exit(2);
}
await mkdir(out, { recursive: true });
const [program, sdk] = [await bundleProgram(), await bundleSdk()];
await writeFile(join(out, 'curbcut.cjs'), program.code);
await writeFile(join(out, SDK_FILE), sdk.code);
for (const [name, { content }] of Object.entries(licenceFiles(new Set([...program.packages, ...sdk.packages]))))
  await writeFile(join(out, name), content);
if (!values['only-program']) {
  const source = process.env.SOURCE_URL ?? '';
  if (source === '') console.error('bundle: SOURCE_URL is not set: the npm package names no repository');
  await writePackage(program, sdk, out, source);
}
