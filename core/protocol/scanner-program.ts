/** How the scanner program is started: in its image, by the embedded cluster, by the command line and by the bench. */

/**
 * The arguments of Node.js, relative to the folder of the program. A small young generation saves 60 MB for a scan with two workers
 * and costs no measurable time. Most objects of a scan are either short-lived or part of the report. The Dockerfile repeats them,
 * because the compile cache is only valid for the options that it was made with.
 */
export const SCANNER_PROGRAM = ['--max-semi-space-size=4', 'scanner-image/main.ts'] as const;

/**
 * How much a scanner does at once, and for how long on one page, unless an installation says otherwise. Pages with more than 20,000
 * elements get more time, up to the limit for large pages.
 */
export const SCANNER_DEFAULTS = { workers: 2, pageBudgetSeconds: 30, largePageBudgetSeconds: 120 } as const;
