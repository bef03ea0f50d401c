/** Adds up the results of several mocha runs, decides the exit code, and writes the closing lines. */
import type { TestEvent } from './reporter.ts';

export interface Failure {
  title: string;
  detail: string;
}

export interface SuiteResult {
  passed: number;
  failures: readonly Failure[];
  /** Titles of the tests that did not run. */
  skipped: readonly string[];
}

const LAST_LINES_OF_A_CRASH = 40;

/**
 * The result of one mocha process. A process that ended without mocha's last event, or with an exit code and no failed
 * test (it crashed, or could not load a file), counts as one failure, so that it never looks green.
 * @param exitCode null if a signal ended the process
 * @param output what the process printed
 */
export function resultOf(events: readonly TestEvent[], exitCode: number | null, output: string): SuiteResult {
  const failures: Failure[] = events.filter((event) => event.event === 'failed');
  const ended = events.some(({ event }) => event === 'ended');
  if (!ended || (failures.length === 0 && exitCode !== 0)) {
    const running = events.findLast(({ event }) => event !== 'ended');
    const during = running?.event === 'started' ? ` during "${running.title}"` : '';
    failures.push({
      title: `mocha ended unexpectedly${during} (${exitCode === null ? 'by a signal' : `exit code ${exitCode}`})`,
      detail: output.trimEnd().split('\n').slice(-LAST_LINES_OF_A_CRASH).join('\n'),
    });
  }
  return {
    passed: events.filter(({ event }) => event === 'passed').length,
    failures,
    skipped: events.flatMap((event) => (event.event === 'skipped' ? [event.title] : [])),
  };
}

/** The result of several processes of one suite. */
export const sumOf = (results: readonly SuiteResult[]): SuiteResult => ({
  passed: results.reduce((sum, { passed }) => sum + passed, 0),
  failures: results.flatMap(({ failures }) => failures),
  skipped: results.flatMap(({ skipped }) => skipped),
});

export interface SkipRules {
  /** True if a skipped test is an error: on a CI machine nothing is left out by accident. */
  forbidden: boolean;
  /** Suites, or parts of a test's title (any case), that may be skipped all the same. */
  leaveOut: readonly string[];
}

/** The skip rules of the environment: `CI` forbids skips, `LEAVE_OUT` names exceptions, separated by commas. */
export function skipRules(environment: NodeJS.ProcessEnv): SkipRules {
  return { forbidden: Boolean(environment['CI']), leaveOut: (environment['LEAVE_OUT'] ?? '').split(',').filter((entry) => entry !== '') };
}

/** The skipped tests that fail the run, as `suite: title`. */
export function forbiddenSkips(results: ReadonlyMap<string, SuiteResult>, rules: SkipRules): string[] {
  if (!rules.forbidden) return [];
  const mayBeLeftOut = (suite: string, title: string): boolean =>
    rules.leaveOut.some((entry) => entry === suite || title.toLowerCase().includes(entry.toLowerCase()));
  return [...results].flatMap(([suite, { skipped }]) =>
    skipped.filter((title) => !mayBeLeftOut(suite, title)).map((title) => `${suite}: ${title}`),
  );
}

const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '    ');

/**
 * The closing lines: every failure once more, because a log is often cut to its end; the skipped tests that fail the
 * run; then `N passed, N failed`.
 */
export function closingLines(results: ReadonlyMap<string, SuiteResult>, rules: SkipRules): string {
  const all = [...results.values()];
  const failed = all.reduce((sum, { failures }) => sum + failures.length, 0);
  const skipped = all.reduce((sum, result) => sum + result.skipped.length, 0);
  const sections = [...results].flatMap(([suite, { failures }]) =>
    failures.length === 0
      ? []
      : [`\n── failed in ${suite}\n${failures.map(({ title, detail }) => `\n  ${title}\n${indent(detail)}\n`).join('')}`],
  );
  const forbidden = forbiddenSkips(results, rules);
  if (forbidden.length > 0) sections.push(`\n── skipped, which fails the run because CI is set\n${indent(forbidden.join('\n'))}\n`);
  const passed = all.reduce((sum, result) => sum + result.passed, 0);
  return `${sections.join('')}\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
}

/** 0 if something passed, nothing failed, and no test was skipped that had to run. */
export function exitCodeOf(results: ReadonlyMap<string, SuiteResult>, rules: SkipRules): 0 | 1 {
  const all = [...results.values()];
  const green =
    all.some(({ passed }) => passed > 0) &&
    all.every(({ failures }) => failures.length === 0) &&
    forbiddenSkips(results, rules).length === 0;
  return green ? 0 : 1;
}
