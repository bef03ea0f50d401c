/** Every component. */
export * from './badges.ts';
export * from './blocks.ts';
export * from './buttons.ts';
export * from './contrast.ts';
export * from './fields.ts';
export * from './tables.ts';
export * from './times.ts';
