/** The catalogue of German. */
export { mail } from './mail.ts';
export { publicPages } from './public-pages.ts';
export { report } from './report.ts';
export { score } from './score.ts';
export { site } from './site.ts';
