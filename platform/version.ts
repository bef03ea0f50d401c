/** Curbcut's version: that of its package, its images and its chart. */
import { readFileSync } from 'node:fs';

export const CURBCUT_VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
