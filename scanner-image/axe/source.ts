/** The script for the isolated world of every document: axe-core, its messages in the scan's language, and our functions. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locale } from '../../core/scan/locales.ts';
import { type WcagLevel, type WcagVersion, axeTags } from '../../core/scan/wcag.ts';

/** The name of the isolated world. The scripts of the page run in a different world. */
export const WORLD = 'curbcut';

const require = createRequire(import.meta.url);

/** axe-core's version. */
export const AXE_VERSION: string = (require('axe-core/package.json') as { version: string }).version;

/** Returns the script for a language of findings. Call it only once per scan, because it reads the files of axe-core. */
export async function axeSource(locale: Locale): Promise<string> {
  const [before, axe, ours, messages] = await Promise.all([
    readFile(join(import.meta.dirname, 'before.js'), 'utf8'),
    readFile(require.resolve('axe-core/axe.min.js'), 'utf8'),
    readFile(join(import.meta.dirname, 'in-page.js'), 'utf8'),
    locale === 'en' ? null : readFile(require.resolve(`axe-core/locales/${locale}.json`), 'utf8'),
  ]);
  return [before, axe, messages === null ? '' : `axe.configure({ locale: ${messages} });`, ours].join('\n;');
}

/** Options for axe-core. */
export interface AxeOptions {
  runOnly: { type: 'tag'; values: string[] };
  resultTypes: string[];
  preload: { assets: string[]; timeout: number };
}

/**
 * Options for a conformance target. Its tags contain no best-practice rules. Style sheets are not preloaded, because only
 * an experimental rule reads them and no tag runs it.
 */
export function axeOptions(level: WcagLevel, version: WcagVersion): AxeOptions {
  return {
    runOnly: { type: 'tag', values: axeTags(level, version) },
    resultTypes: ['violations', 'incomplete'],
    preload: { assets: ['media'], timeout: 3000 },
  };
}
