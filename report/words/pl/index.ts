/** The catalogue of Polish. */
export { mail } from './mail.ts';
export { publicPages } from './public-pages.ts';
export { report } from './report.ts';
export { site } from './site.ts';
