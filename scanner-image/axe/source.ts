/** The script that is put beside every document: axe-core, the findings' language, and our own few functions. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Locale } from '../../core/scan/locales.ts';
import { type WcagLevel, type WcagVersion, axeTags } from '../../core/scan/wcag.ts';

/** The world's name; the page's own scripts live in another. */
export const WORLD = 'curbcut';

const require = createRequire(import.meta.url);

/** axe-core's version. */
export const AXE_VERSION: string = (require('axe-core/package.json') as { version: string }).version;

/** The script for one language of findings. Reads axe-core's files; call it once a scan. */
export async function axeSource(locale: Locale): Promise<string> {
  const [before, axe, ours, words] = await Promise.all([
    readFile(join(import.meta.dirname, 'before.js'), 'utf8'),
    readFile(require.resolve('axe-core/axe.min.js'), 'utf8'),
    readFile(join(import.meta.dirname, 'in-page.js'), 'utf8'),
    locale === 'en' ? null : readFile(require.resolve(`axe-core/locales/${locale}.json`), 'utf8'),
  ]);
  return [before, axe, words === null ? '' : `axe.configure({ locale: ${words} });`, ours].join('\n;');
}

/** What axe-core is asked for. */
export interface AxeOptions {
  runOnly: { type: 'tag'; values: string[] };
  resultTypes: string[];
  preload: { assets: string[]; timeout: number };
}

/**
 * Options for a conformance target. Best-practice rules are in none of its tags. Style sheets are not preloaded: only an
 * experimental rule, which no tag runs, reads them.
 */
export function axeOptions(level: WcagLevel, version: WcagVersion): AxeOptions {
  return {
    runOnly: { type: 'tag', values: axeTags(level, version) },
    resultTypes: ['violations', 'incomplete'],
    preload: { assets: ['media'], timeout: 3000 },
  };
}
