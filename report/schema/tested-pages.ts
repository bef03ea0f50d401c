import type { ReportPage, TestedPage } from './schema.ts';

export function testedPages(pages: readonly ReportPage[]): TestedPage[] {
  return pages.filter((page) => page.tested);
}
