/** The scanner in the npm package: its bundle, and the files that it reads. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCALES } from '../../core/scan/locales.ts';
import { PACKAGED_FONTS } from '../../report/pdf/fonts.ts';
import type { ArchivedFile } from './archive.ts';
import { bundleScanner, ROOT } from './bundle.ts';

/** Where cli/packed.cjs looks for it. */
const FOLDER = 'scanner';

/** Files of packages that the scanner finds with `require.resolve`, as patterns. They are patterns of what is needed of Playwright. */
const OF_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'playwright-core': ['index.js', 'index.mjs', 'package.json', 'browsers.json', 'lib/*.{js,wasm}'],
  'axe-core': ['package.json', 'axe.min.js', ...LOCALES.filter((locale) => locale !== 'en').map((locale) => `locales/${locale}.json`)],
  '@duckduckgo/autoconsent': ['package.json', 'dist/autoconsent.playwright.js', 'rules/rules.json'],
};

/** The files of the scanner by their paths in the package, and the names of the packages in them. */
export async function scannerFiles(): Promise<{ files: Record<string, ArchivedFile>; packages: Set<string> }> {
  const bundle = await bundleScanner(['playwright-core']);
  const files: Record<string, ArchivedFile> = { [`${FOLDER}/main.mjs`]: { content: bundle.code } };
  const add = (from: string, patterns: readonly string[], to: string): void => {
    for (const pattern of patterns) {
      const found = globSync(pattern, { cwd: join(ROOT, from) });
      if (found.length === 0) throw new Error(`there is no ${pattern} in ${from}`);
      for (const file of found) files[`${FOLDER}/${to}${file}`] = { content: readFileSync(join(ROOT, from, file)) };
    }
  };
  for (const [name, patterns] of Object.entries(OF_PACKAGES)) add(`node_modules/${name}`, patterns, `node_modules/${name}/`);
  add('node_modules', PACKAGED_FONTS, 'node_modules/');
  // Beside the bundle, as they are beside the modules that read them.
  add('scanner-image/page/scripts', ['*.js'], '');
  add('node_modules/pdfkit/js', ['data/*.icc'], '');
  const fonts = PACKAGED_FONTS.map((file) => file.split('/').slice(0, 2).join('/'));
  return { files, packages: new Set([...bundle.packages, ...Object.keys(OF_PACKAGES), ...fonts]) };
}
