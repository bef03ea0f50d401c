/** Errors of pages that no person would see: violations of the policy, errors of scripts, files that do not load. */
import type { BrowserContext, Page } from 'playwright-core';

const byPage = new WeakMap<Page, string[]>();

/** Records the errors of all pages of a visitor, also in `all`. */
export async function recordProblems(visitor: BrowserContext, all: string[]): Promise<void> {
  visitor.on('page', (page) => {
    const own: string[] = [];
    byPage.set(page, own);
    const add = (problem: string): void => {
      own.push(problem);
      all.push(`${page.url()}: ${problem}`);
    };
    page.on('pageerror', (error) => add(`script error: ${error.message}`));
    page.on('console', (message) => {
      // The status of the page itself is what its test is about.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) add(message.text());
    });
    page.on('response', (response) => {
      if (response.status() >= 400 && response.url().includes('/assets/')) add(`${response.status()} ${response.url()}`);
    });
  });
}

/** What was recorded for a page. */
export const problemsOf = (page: Page): readonly string[] => byPage.get(page) ?? [];
