/** Curbcut's version: that of its package, its images and its chart. */
import manifest from '../package.json' with { type: 'json' };

export const CURBCUT_VERSION: string = manifest.version;
