/** The catalogue of each language, a folder here. */
export * as en from './en/index.ts';
export * as de from './de/index.ts';
export * as fr from './fr/index.ts';
export * as nl from './nl/index.ts';
export * as pl from './pl/index.ts';
